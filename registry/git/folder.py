"""A folder on disk as a source: read by the same steps as a commit, before anything is committed or pushed."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from registry.errors import Corrupt
from registry.git import worktree
from registry.git.walk import TreeFile

NO_COMMIT = "0" * 40


@dataclass(frozen=True, slots=True)
class _Head:
    """What a copy says of itself: what is on disk now, whatever is committed."""

    ref: str = "refs/heads/working-copy"
    commit: str = NO_COMMIT


class WorkingCopy:
    """A folder on disk as a git source of one commit: what is there now, without history.

    `commit` is what the copy has checked out; what lies there may differ from it. Blob ids are paths.
    """

    def __init__(self, root: Path, commit: str = NO_COMMIT) -> None:
        self._root = root
        self._commit = commit

    def poll(self) -> _Head:
        """The one head there is."""
        return _Head(commit=self._commit)

    def fetch(self, head: object) -> None:
        """Nothing to do: everything is here."""

    def read(self, commit: str) -> "WorkingCopy":  # noqa: ARG002 - the port's signature
        """The files on disk, whatever the commit."""
        return self

    def list_files(self, *, enter: Callable[[str], bool], wanted: Callable[[str], bool]) -> Sequence[TreeFile]:
        """The wanted files below the folders to enter, sorted by path. Raises SourceTooLarge."""
        return worktree.list_files(self._root, enter=enter, wanted=wanted)

    def tree_id(self, path: str) -> str | None:
        """`path` itself where there is a folder."""
        return path if (self._root / path).is_dir() else None

    def blob_id(self, path: str) -> str | None:
        """`path` itself where there is a file, links inside the folder followed."""
        return path if worktree.read_file(self._root, path, 0) is not None else None

    def hydrate(self, blob_ids: Collection[str]) -> None:
        """Nothing to do: everything is here."""

    def read_blob(self, blob_id: str, max_bytes: int) -> object:
        """The bytes of a file, or Oversize. Raises Corrupt for one that cannot be read."""
        data = worktree.read_file(self._root, blob_id, max_bytes)
        if data is None:
            raise Corrupt(f"{blob_id} cannot be read: is it a file that you may read?")
        return data

    def history(self, path: str, limit: int) -> Iterable[tuple[str, bytes | None]]:  # noqa: ARG002 - the port's signature
        """Nothing: a check speaks of what is there, not of what an earlier commit could stand in for."""
        return ()

    def contents(self, paths: Collection[str], limit: int) -> Iterable[tuple[str, str, str | None]]:  # noqa: ARG002 - the port's signature
        """Nothing, for the same reason."""
        return ()

    def close(self) -> None:
        """Nothing to do: no file is kept open."""

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether they are the same: there is no history."""
        return old == new
