"""A working copy whose files have the ids that git gives their content, so that what did not change is read once."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from registry.git import worktree
from registry.git.folder import WorkingCopy
from registry.git.walk import BLOB_BYTES_MAX, TreeFile

_SHA1_DIGITS = 40


class ChangedCopy(WorkingCopy):
    """The files on disk, to be read after a commit of the same repository with the same cache.

    `commit` is one of the repository, whose ids say how it hashes. A file over what is read keeps its path as its id.
    """

    def __init__(self, root: Path, commit: str) -> None:
        super().__init__(root)
        self._root_folder = root
        # Git's own choice of hash: nothing is protected by it here.
        self._hash = hashlib.sha1 if len(commit) == _SHA1_DIGITS else hashlib.sha256
        self._paths: dict[str, str] = {}

    def read(self, commit: str) -> "ChangedCopy":  # noqa: ARG002 - the port's signature
        """The files on disk, whatever the commit."""
        return self

    def list_files(self, *, enter: Callable[[str], bool], wanted: Callable[[str], bool]) -> Sequence[TreeFile]:
        """The wanted files below the folders to enter, sorted by path. Raises SourceTooLarge."""
        return [self._addressed(file) for file in super().list_files(enter=enter, wanted=wanted)]

    def read_blob(self, blob_id: str, max_bytes: int) -> object:
        """The bytes of a file, or Oversize. Raises Corrupt for one that cannot be read."""
        return super().read_blob(self._paths.get(blob_id, blob_id), max_bytes)

    def _addressed(self, file: TreeFile) -> TreeFile:
        data = worktree.read_file(self._root_folder, file.blob_id, BLOB_BYTES_MAX)
        if not isinstance(data, bytes):
            return file
        address = self._hash(b"blob %d\0" % len(data) + data).hexdigest()
        self._paths[address] = file.blob_id
        return replace(file, blob_id=address)
