"""Files that several paths lead to: a symlink is the file that it resolves to (merge.md, Twins)."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from registry.ports import TreeFile


def without_links(
    files: Sequence[TreeFile], place_of: Callable[[str], int | None]
) -> tuple[tuple[TreeFile, ...], dict[str, int]]:
    """Each file once, in the order they came, and the place of its root by its path.

    A file stands under its own path, or where that is under no root under the path whose root goes first. Its root is
    the first of all that lead to it, so that a link in an earlier root lifts the file there. `place_of` gives the place
    of a path's root.
    """
    groups: dict[str, list[TreeFile]] = defaultdict(list)
    for file in files:
        groups[file.target or file.path].append(file)
    places: dict[str, int] = {}
    for own_path, paths in groups.items():
        ranked = min((place_of(file.path) or 0, file.path) for file in paths)
        is_listed = any(file.path == own_path for file in paths)
        places[own_path if is_listed else ranked[1]] = ranked[0]
    return tuple(file for file in files if file.path in places), places
