"""Where a working copy branched off, as a source: what `registry check --base` compares with.

The commit is found by the user's own git and read with libgit2 from the objects that are here; nothing is fetched.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from registry.errors import BranchMissing, EmptyRepository
from registry.git.checkout import ask_git, line_of
from registry.git.tree import TreeReader
from registry.git.walk import TreeFile


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """The newest commit that a working copy has in common with `ref`.

    `objects` is the git folder that holds it; `below` the folder of the repository that the copy is, "" for all of it.
    """

    ref: str
    commit: str
    objects: Path
    below: str


def find_branch_point(folder: Path, ref: str) -> BranchPoint:
    """Where what is checked out around `folder` branched off from `ref`, a branch, tag or commit that git knows here.

    Raises SourceFault: EmptyRepository where there is no commit, BranchMissing where the ref or the common commit is
    not here.
    """
    top = line_of(ask_git(folder, "rev-parse", "--show-toplevel"))
    if top is None or ask_git(folder, "rev-parse", "--verify", "--quiet", "HEAD") is None:
        raise EmptyRepository(f"{folder} is no git working copy with a commit, so there is nothing to compare with.")
    # `--end-of-options`, so that a ref is never taken for an option.
    target = line_of(ask_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"))
    if target is None:
        raise BranchMissing(
            f"{ref} is no commit that git knows here: fetch it first, as in `git fetch origin main`; a workflow of "
            "GitHub Actions wants `fetch-depth: 0` at its checkout."
        )
    common = line_of(ask_git(folder, "merge-base", "HEAD", target))
    if common is None:
        is_shallow = line_of(ask_git(folder, "rev-parse", "--is-shallow-repository")) == "true"
        why = "the clone is shallow: run `git fetch --unshallow`" if is_shallow else "they have no history in common"
        raise BranchMissing(f"HEAD and {ref} have no commit in common here; {why}.")
    objects = line_of(ask_git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    below = line_of(ask_git(folder, "rev-parse", "--show-prefix")) or ""
    return BranchPoint(ref, common, Path(objects or top), below.strip("/"))


class BranchPointSource:
    """The one commit of a branch point as a git source."""

    def __init__(self, point: BranchPoint) -> None:
        self._point = point

    @property
    def ref(self) -> str:
        """What was asked for."""
        return self._point.ref

    @property
    def commit(self) -> str:
        """The commit."""
        return self._point.commit

    def poll(self) -> "BranchPointSource":
        """The one head there is: itself."""
        return self

    def fetch(self, head: object) -> None:
        """Nothing to do: what is not here is not fetched."""

    def read(self, commit: str) -> "TreeReader | BelowTree":
        """The files of a commit. Raises Corrupt where its objects are not here."""
        tree = TreeReader(self._point.objects, commit, _Here(), slim=False)
        return BelowTree(tree, self._point.below) if self._point.below else tree


class BelowTree:
    """One folder of a commit as if it were all of it; a link that leads out of it leads nowhere."""

    def __init__(self, tree: TreeReader, below: str) -> None:
        self._tree = tree
        self._below = below
        self._prefix = below + "/"

    def list_files(self, *, enter: Callable[[str], bool], wanted: Callable[[str], bool]) -> Sequence[TreeFile]:
        """The wanted files below the folders to enter, sorted by path. Raises SourceTooLarge."""

        def is_entered(path: str) -> bool:
            if path.startswith(self._prefix):
                return enter(path.removeprefix(self._prefix))
            return self._prefix.startswith(path + "/")

        def is_wanted(path: str) -> bool:
            return path.startswith(self._prefix) and wanted(path.removeprefix(self._prefix))

        return [self._inside(file) for file in self._tree.list_files(enter=is_entered, wanted=is_wanted)]

    def tree_id(self, path: str) -> str | None:
        """The id of the folder at `path`, or None where there is none."""
        return self._tree.tree_id(self._prefix + path if path else self._below)

    def blob_id(self, path: str) -> str | None:
        """The id of the file's content at `path`, or None where there is no file."""
        return self._tree.blob_id(self._prefix + path)

    def hydrate(self, blob_ids: Collection[str]) -> None:
        """Nothing to do: what is not here is not fetched."""

    def read_blob(self, blob_id: str, max_bytes: int) -> object:
        """The bytes of a blob, or Oversize. Raises Corrupt."""
        return self._tree.read_blob(blob_id, max_bytes)

    def history(self, path: str, limit: int) -> Iterable[tuple[str, object]]:
        """(commit, bytes) of each version of the file, newest first, along first parents."""
        return self._tree.history(self._prefix + path, limit)

    def contents(self, paths: Collection[str], limit: int) -> Iterator[tuple[str, str, str | None]]:
        """(commit, path, id) of each content that a path had, newest first."""
        for commit, path, blob_id in self._tree.contents([self._prefix + path for path in paths], limit):
            yield commit, path.removeprefix(self._prefix), blob_id

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `old` is `new` or in its history."""
        return self._tree.is_ancestor(old, new)

    def close(self) -> None:
        """Let go of the files that it keeps open."""
        self._tree.close()

    def _inside(self, file: TreeFile) -> TreeFile:
        path = file.path.removeprefix(self._prefix)
        if file.target is None:
            return replace(file, path=path)
        if not file.target.startswith(self._prefix):
            return replace(file, path=path, kind="symlink", target=None)
        return replace(file, path=path, target=file.target.removeprefix(self._prefix))


class _Here:
    """Where a reader gets what is missing: nowhere, since a check never goes to the network."""

    def hydrate(self, blob_ids: Collection[str]) -> None:
        """Nothing to do: a clone that is not slim is never asked for it."""

    def deepen(self, commit: str, depth: int) -> bool:  # noqa: ARG002 - the port's signature
        return False

    def distrust(self) -> None:
        """Nothing to do: what somebody checked out is not made anew."""
