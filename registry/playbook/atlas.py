"""Where the values of a loaded document stand in its file, looked up for all of its problems together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from registry.playbook.json_tokens import Site, locate_json
from registry.playbook.load import Loaded, Syntax
from registry.playbook.text import Data, Path, lines_and_columns

Collection = Mapping[str, Data] | list[Data]


@dataclass(frozen=True, slots=True)
class Spot:
    """What a problem is about: the value at `path`, or the key that `path` ends with.

    With `part`, the `nth` (from 0) such text inside the value; with `body_offset`, a character of the body instead.
    """

    path: Path = ()
    on_key: bool = False
    part: str = ""
    nth: int = 0
    body_offset: int | None = None


class Atlas:
    """Finds the places of spots in one document."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._behind: Mapping[int, int] = {}
        self._numbers: dict[int, dict[str | int, int]] = {}

    def places(self, spots: Sequence[Spot]) -> list[tuple[int, int]]:
        """Line and column of each spot, else of the closest thing around it, else 1:1."""
        sites = self._sites(spot.path for spot in spots if spot.path)
        offsets = [self._offset(spot, sites) for spot in spots]
        known = lines_and_columns(self._loaded.text, (each for each in offsets if each is not None))
        return [self._place(spot, offset, known) for spot, offset in zip(spots, offsets, strict=True)]

    def _sites(self, paths: Iterable[Path]) -> Mapping[Path, Site]:
        if self._loaded.syntax is Syntax.JSON:
            return locate_json(self._loaded.text, frozenset(paths))
        found: dict[Path, Site] = {}
        for path in frozenset(paths):
            self._note(path, found)
        return found

    def _offset(self, spot: Spot, sites: Mapping[Path, Site]) -> int | None:
        if spot.body_offset is not None:
            return self._loaded.body_offset
        path, on_key = spot.path, spot.on_key
        while path and path not in sites:
            path, on_key = path[:-1], False
        if not path:
            return None
        key, value = sites[path]
        if on_key and key is not None:
            return key
        return self._inside(value, spot) if spot.part and path == spot.path else value

    def _inside(self, at: int, spot: Spot) -> int:
        """Where the spot's part stands behind `at`; `at` itself where it is escaped."""
        found, end = at - 1, self._loaded.body_offset or len(self._loaded.text)
        for _ in range(spot.nth + 1):
            found = self._loaded.text.find(spot.part, found + 1, end)
            if found < 0:
                return at
        return found

    def _place(self, spot: Spot, offset: int | None, known: Mapping[int, tuple[int, int]]) -> tuple[int, int]:
        if offset is None:
            return 1, 1
        line, column = known[offset]
        if spot.body_offset is None:
            return line, column
        # The body's lines end in one character, those of the file may end in two.
        body = self._loaded.body or ""
        breaks = body.count("\n", 0, spot.body_offset)
        return line + breaks, spot.body_offset - (body.rfind("\n", 0, spot.body_offset) + 1) + 1

    def _note(self, path: Path, found: dict[Path, Site]) -> None:
        """Notes the sites on the way to a value of YAML, whose nodes' places were noted while it was read."""
        here: object = self._loaded.data
        number = 0
        for depth, part in enumerate(path, start=1):
            numbers = self._members(here, number) if isinstance(here, dict | list) else {}
            if part not in numbers:
                return
            number = numbers[part]
            key = self._loaded.marks.begins[number - 1] if isinstance(here, dict) else None
            found[path[:depth]] = (key, self._loaded.marks.begins[number])
            here = here[part]  # type: ignore[index]  # it has this member

    def _members(self, collection: Collection, number: int) -> Mapping[str | int, int]:
        """The numbers of the members' values of a collection that has this number itself."""
        if not self._behind:
            self._behind = self._loaded.marks.behind()
        numbers = self._numbers.get(number)
        if numbers is None:
            numbers = self._numbers[number] = {}
            step = isinstance(collection, Mapping)
            following = number + 1
            for part in collection if isinstance(collection, Mapping) else range(len(collection)):
                numbers[part] = following = following + step
                following = self._behind.get(following, following + 1)
        return numbers
