"""What a crash or a deletion leaves lying in directories, and how it goes.

Decides which files belong to nobody: those of logs the checkpoint does not know, and of segments that are not in it.
Knows its own files by their names and touches no others. Blocking: runs at recovery, or in the settling worker.
"""

import errno
import re
from collections.abc import Iterable
from typing import Final

from kohort.store.files.checkpoint import LogEntry
from kohort.store.files.disk import Disk
from kohort.store.files.segment import METADATA_NAME, log_directory

_LOG_DIRECTORY: Final = re.compile(r".+-\d+")
_OWN_FILE: Final = re.compile(r"(\d{20})\.(?:log|index|timeindex)(?:\.cleaned(\d+))?|partition\.metadata")


def cleaned_ending(generation: int) -> str:
    """What is appended to the names of files that compaction made, until they take the place of the old ones."""
    return f".cleaned{generation}"


def is_log_directory(name: str) -> bool:
    return _LOG_DIRECTORY.fullmatch(name) is not None


def remove_files(disk: Disk, paths: Iterable[str]) -> None:
    """What is gone already is gone."""
    for path in paths:
        try:
            disk.unlink(path)
        except FileNotFoundError:
            continue


def remove_log_directory(disk: Disk, directory: str) -> None:
    """With everything of ours in it; it stays when there is something else."""
    own = [name for name in disk.list(directory) if _OWN_FILE.fullmatch(name)]
    remove_files(disk, (f"{directory}/{name}" for name in own))
    _remove_if_empty(disk, directory)


def remove_cleaned(disk: Disk, directory: str) -> None:
    """What a cleaning made that nobody wants any more; and the directory, if its log was deleted meanwhile."""
    matches = [match for name in disk.list(directory) if (match := _OWN_FILE.fullmatch(name)) is not None]
    remove_files(disk, (f"{directory}/{match[0]}" for match in matches if match[2] is not None))
    _remove_if_empty(disk, directory)


def _remove_if_empty(disk: Disk, directory: str) -> None:
    try:
        disk.remove_directory(directory)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
            raise
        return
    disk.sync_directory(directory.rpartition("/")[0])


def sweep(disk: Disk, logs: Iterable[LogEntry]) -> None:
    """Leaves the files that these logs are made of, and puts cleaned ones in place that the checkpoint knows of."""
    entries = {log_directory(entry.log_id): entry for entry in logs}
    for directory in _log_directories(disk):
        entry = entries.get(directory)
        if entry is None:
            remove_log_directory(disk, directory)
            continue
        generations = {segment.base_offset: segment.generation for segment in entry.settled.segments}
        for name in disk.list(directory):
            own = _OWN_FILE.fullmatch(name)
            if own is None or name == METADATA_NAME:
                continue
            base_offset, generation = own.groups()
            path = f"{directory}/{name}"
            known = generations.get(int(base_offset))
            if generation is None and known is None:
                disk.unlink(path)
            elif generation is not None and known == int(generation):
                disk.rename(path, path.removesuffix(cleaned_ending(known)))
            elif generation is not None:
                disk.unlink(path)
        disk.sync_directory(directory)


def _log_directories(disk: Disk) -> list[str]:
    found = [name for name in disk.list("") if is_log_directory(name)]
    for org in disk.list("orgs"):
        found += [f"orgs/{org}/{name}" for name in disk.list(f"orgs/{org}") if is_log_directory(name)]
    return found
