"""Working copies: what `registry check PATH` reads from a checkout, before anything is committed or pushed."""

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from registry.git.walk import (
    BLOB_BYTES_MAX,
    LINK_BYTES_MAX,
    Entry,
    Oversize,
    Predicate,
    TreeFile,
    WalkLimits,
    find,
    list_wanted,
)


def list_files(
    root: Path, *, enter: Predicate, wanted: Predicate, limits: WalkLimits | None = None
) -> tuple[TreeFile, ...]:
    """The wanted files below the folder `root`, tracked or not, sorted by path; `blob_id` is the path to read.

    The same rules as for a commit's tree (`walk.list_wanted`). Raises SourceTooLarge; a folder that may not be read
    holds nothing.
    """
    files = list_wanted(_DiskListing(root), enter=enter, wanted=wanted, limits=limits or WalkLimits())
    return tuple(_printable(file) for file in files)


def read_file(root: Path, path: str, max_bytes: int = BLOB_BYTES_MAX) -> bytes | Oversize | None:
    """The bytes of the file at `path` below `root`, links inside it followed.

    Oversize for more than `max_bytes`; None for what is no regular file, cannot be read, or lies outside `root`.
    """
    found = find(_DiskListing(root), path)
    if found is None or found.entry.kind != "file":
        return None
    try:
        # The links are followed already; one that appears now is not, and a pipe does not block.
        number = os.open(root / found.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(number, "rb") as file:  # noqa: PTH123  # a file number has no path
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            return None
        data = file.read(max_bytes + 1)
        return Oversize(max(facts.st_size, len(data))) if len(data) > max_bytes else data


def _printable(file: TreeFile) -> TreeFile:
    # What is not UTF-8 is never read, and no digest can be made of the path that the system knows it by.
    return replace(file, blob_id=file.path) if file.kind == "path-not-utf8" else file


class _DiskListing:
    """A folder on disk as the walk sees it; ids are paths relative to the root, links not followed."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def root(self) -> str:
        return ""

    def entries(self, folder_id: str) -> Iterator[Entry]:
        try:
            names = sorted(os.listdir(os.fsencode(self._root / folder_id)))  # noqa: PTH208  # names as bytes
        except OSError:
            return
        for name in names:
            if entry := self._entry(folder_id, name):
                yield entry

    def entry(self, folder_id: str, name: str) -> Entry | None:
        return self._entry(folder_id, os.fsencode(name))

    def link_text(self, link_id: str) -> bytes:
        try:
            return os.fsencode((self._root / link_id).readlink())[: LINK_BYTES_MAX + 1]
        except OSError:
            return b""

    def prefetch(self, link_ids: Collection[str]) -> None:
        """Nothing to do: links on disk are near."""

    def _entry(self, folder_id: str, name: bytes) -> Entry | None:
        path = os.path.join(folder_id, os.fsdecode(name))  # noqa: PTH118  # an id, and not always a printable one
        try:
            facts = (self._root / path).lstat()
        except (OSError, ValueError):
            return None
        if stat.S_ISREG(facts.st_mode):
            return Entry(name, "file", path, facts.st_size)
        if stat.S_ISLNK(facts.st_mode):
            return Entry(name, "symlink", path)
        if stat.S_ISDIR(facts.st_mode):
            # A folder with a `.git` of its own is another repository, as git sees it.
            inner = (self._root / path / ".git").exists()
            return Entry(name, "submodule" if inner else "folder", path)
        return Entry(name, "other", path)
