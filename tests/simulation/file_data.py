"""The bytes of one simulated file, in the page cache and on the platter.

Between two syncs the two differ, and what lies between is free to reach the platter in any part and any order: each
block of 512 bytes is the old one or any that was written over it, and the size is the old one or any since.
"""

from random import Random

from kohort.store.files.disk import Buffer

BLOCK = 512


class FileData:
    """A file's bytes as they are seen, and what a power cut would leave of them."""

    def __init__(self) -> None:
        self.seen = bytearray()
        self._stable = bytearray()
        """Whole blocks; what lies beyond the stable size does not count."""
        self._stable_size = 0
        self._written: dict[int, list[bytes]] = {}
        """By block: what was written over the stable one since it was synced last, oldest first."""
        self._sizes: list[int] = []
        self._has_lost = False
        """Whether a failed sync has left anything that is seen and will never be stable."""

    def write(self, data: Buffer, position: int) -> None:
        if not len(data):
            return
        end = position + len(data)
        old_size = len(self.seen)
        if end > old_size:
            self.seen.extend(bytes(end - old_size))
            self._sizes.append(end)
        self.seen[position:end] = data
        self._touch(min(position, old_size), end)

    def resize(self, size: int) -> None:
        old_size = len(self.seen)
        del self.seen[size:]
        self.seen.extend(bytes(size - len(self.seen)))
        self._sizes.append(size)
        self._touch(min(old_size, size), max(old_size, size))

    def _touch(self, start: int, end: int) -> None:
        for block in _blocks(start, end):
            content = bytes(self.seen[block * BLOCK : (block + 1) * BLOCK])
            self._written.setdefault(block, []).append(content.ljust(BLOCK, b"\0"))

    def sync(self) -> None:
        for block, versions in self._written.items():
            self._make_stable(block, versions[-1])
        self._written.clear()
        self._end_round(len(self.seen))

    def sync_range(self, start: int, end: int) -> None:
        """Makes these bytes stable, with as much of the size as it takes to find them."""
        for block in _blocks(start, end):
            versions = self._written.pop(block, None)
            if versions is not None:
                self._make_stable(block, versions[-1])
        self._stable_size = max(self._stable_size, end)
        self._sizes = [size for size in self._sizes if size >= end]

    def sync_partly(self, random: Random) -> None:
        """What is not stable becomes so in part: none of it, all, a beginning or any; the rest is lost."""
        how = random.choice(("none", "all", "beginning", "any", "any"))
        blocks = sorted(self._written)
        beginning = blocks[: random.randint(0, len(blocks))]
        for block in blocks:
            versions = self._written[block]
            if how == "all" or (how == "beginning" and block in beginning):
                self._make_stable(block, versions[-1])
            elif how == "any" and random.random() < 0.6:
                self._make_stable(block, random.choice(versions))
        self._written.clear()
        sizes = [self._stable_size, *self._sizes]
        self._end_round({"none": sizes[0], "all": sizes[-1]}.get(how, random.choice(sizes)))

    def fail_sync(self, random: Random) -> None:
        """Some of it is stable; the kernel forgets that the rest was ever dirty."""
        self.sync_partly(random)
        self._has_lost = True

    def evict(self) -> None:
        """The page cache needs room: what counts as clean is read from the platter again."""
        if self._has_lost and not self._written:
            size = len(self.seen)
            self.seen = self._stable[: min(size, self._stable_size)]
            self.seen.extend(bytes(size - len(self.seen)))
            self._has_lost = False

    def lose_power(self, random: Random) -> None:
        self.sync_partly(random)
        self.seen = self._stable[: self._stable_size]

    def _make_stable(self, block: int, content: bytes) -> None:
        start = block * BLOCK
        if len(self._stable) < start:
            self._stable.extend(bytes(start - len(self._stable)))
        self._stable[start : start + BLOCK] = content

    def _end_round(self, size: int) -> None:
        del self._stable[size:]
        self._stable.extend(bytes(size - len(self._stable)))
        self._stable_size = size
        self._sizes.clear()


def _blocks(start: int, end: int) -> range:
    return range(start // BLOCK, (end + BLOCK - 1) // BLOCK)
