"""How much memory and disk the embedded store may use, and when it settles."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FilesSettings:
    """At most wal_segments * wal_segment_bytes of memory and of disk are taken by the write-ahead log."""

    wal_segment_bytes: int = 32 << 20
    """A multiple of the page size. An append that is larger gets a segment of its own, as large as it needs."""
    wal_segments: int = 8
    """Segments that may wait for being settled; beyond, appends wait."""
    cached_segments: int = 3
    """Settled segments that stay in memory for those who read just behind the end."""
    wal_segment_appends: int = 100_000
    """A segment with so many appends counts as full, so that settling and recovery stay short."""
    settle_after_ms: int = 10_000
    """What is older than this is settled even though its segment is not full."""
    release_after_ms: int = 60_000
    """After so long without an append, memory is given back to the system."""


def settings_within(memory_bytes: int) -> FilesSettings:
    """As many segments as fit; three of eight stay for readers when they are settled."""
    segments = max(2, memory_bytes // FilesSettings().wal_segment_bytes)
    return FilesSettings(wal_segments=segments, cached_segments=segments * 3 // 8)
