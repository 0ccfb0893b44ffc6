"""What some paths held along a line of commits, and which commit brought it in. Only folders that changed are read.

A commit that leaves a folder alone leaves all that is in it alone: most commits cost one look at the root.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple


class Child(NamedTuple):
    """One name in a folder: the id of what it is, and whether that is a folder."""

    id: str
    is_folder: bool


def contents(
    commits: Iterable[str],
    paths: Collection[str],
    *,
    root_of: Callable[[str], str],
    child: Callable[[str, str], Child | None],
) -> Iterator[tuple[str, str, str | None]]:
    """(commit, path, id) of each content that a path had, newest first: the commit that brought it in.

    `commits` go from newest to oldest; `root_of` gives a commit's topmost folder, `child` a file or folder by its name
    in a folder. A path that ends with a slash is a folder's, any other one a file's; the id is None where there was
    no such thing. What the oldest commit has counts as brought in by it.
    """
    newer: _Tree | None = None
    since = ""
    for commit in commits:
        tree = _Tree(Child(root_of(commit), is_folder=True), child, newer)
        for path in paths:
            now = tree.id_of(path)
            if newer is not None and newer.id_of(path) != now:
                yield since, path, newer.id_of(path)
        # Not the whole line: each tree leans on the next newer one alone, and only while it is looked at.
        tree.newer = None
        newer, since = tree, commit
    if newer is not None:
        for path in paths:
            yield since, path, newer.id_of(path)


class _Tree:
    """One commit's tree, looked up path by path; what lies in a folder that `newer` has too is taken from there."""

    def __init__(self, root: Child, child: Callable[[str, str], Child | None], newer: "_Tree | None") -> None:
        self.newer = newer
        self._child = child
        self.found: dict[str, Child | None] = {"": root}

    def id_of(self, path: str) -> str | None:
        found = self.find(path.removesuffix("/"))
        return found.id if found is not None and found.is_folder == path.endswith("/") else None

    def find(self, path: str) -> Child | None:
        if path not in self.found:
            self.found[path] = self._look_up(path)
        return self.found[path]

    def _look_up(self, path: str) -> Child | None:
        folder, _, name = path.rpartition("/")
        above = self.find(folder)
        if self.newer is not None and path in self.newer.found and self.newer.find(folder) == above:
            return self.newer.found[path]
        return self._child(above.id, name) if above is not None and above.is_folder else None
