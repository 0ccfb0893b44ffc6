"""A folder on disk, read as the server would read its commit."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from registry.cli.outcome import Misused
from registry.errors import Corrupt, SourceFault
from registry.git import worktree
from registry.playbook.roots import Roots
from registry.ports import RemoteHead, Role, TreeFile
from registry.service.checking import Report, check
from registry.sync.source import SourcePlan

NO_COMMIT = "0" * 40


def read(
    path: Path,
    *,
    repository: str | None = None,
    globs: tuple[str, ...] = (),
    policy_path: str | None = None,
    required: frozenset[str] = frozenset(),
) -> Report:
    """What a sync of the folder would find; with `policy_path` as a central repository. Raises Misused."""
    plan = SourcePlan(
        repository=repository or "local/working-copy",
        role=Role.SERVICE if policy_path is None else Role.CENTRAL,
        roots=Roots(globs or None),
        policy_path=policy_path,
    )
    try:
        return check(WorkingCopy(path), plan, required)
    except SourceFault as error:
        raise Misused(str(error)) from None


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a copy without commits: what is on disk now."""

    ref: str = "refs/heads/working-copy"
    commit: str = NO_COMMIT


def passed_over(path: Path, globs: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The files where playbooks are looked for, sorted by path. Raises Misused."""
    roots = Roots(globs or None)
    try:
        return tuple(file.path for file in worktree.list_files(path, enter=roots.enter, wanted=roots.wanted))
    except SourceFault as error:
        raise Misused(str(error)) from None


class WorkingCopy:
    """A folder on disk as a git source of one commit: what is there now, without history. Blob ids are paths."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def poll(self) -> RemoteHead:
        """The one head there is."""
        return _Head()

    def fetch(self, head: RemoteHead) -> None:
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

    def close(self) -> None:
        """Nothing to do: no file is kept open."""

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether they are the same: there is no history."""
        return old == new
