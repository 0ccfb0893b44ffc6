"""Numbers settled: text where the format wants text, JSON numbers where the author's own JSON stands."""

from collections.abc import Iterator, Mapping
from typing import cast

from registry.digest import Json
from registry.playbook.document import EXTENSION_PREFIX, FREE_KEYS
from registry.playbook.text import Data, Numeral, Path, number_of


class OutOfRange(Exception):
    """A numeral that JSON has no number for; `unsettled` says where."""


def settled(fields: Mapping[str, Data], *, numbers_are_text: bool, numerals: int | None = None) -> dict[str, Json]:
    """The fields as plain JSON; raises OutOfRange.

    With `numbers_are_text` (YAML) a numeral is its source text except below the free keys; without (JSON) it is a
    number everywhere. `playbook` is a number and `version` a text in both. `numerals` says how many there are in all,
    where that is known.
    """
    shallow = _has_no_more(fields, numerals)
    return {
        key: value
        if shallow and value.__class__ is not Numeral
        else _settled(value, _is_free(key, at_root=True, text=numbers_are_text))
        for key, value in fields.items()
    }


def as_texts(fields: Mapping[str, Data], *, numerals: int | None = None) -> dict[str, Json]:
    """The fields with every number as the text it was written as, so that nothing of it is lost."""
    shallow = _has_no_more(fields, numerals)
    return {
        key: value if shallow and value.__class__ is not Numeral else _settled(value, None)
        for key, value in fields.items()
    }


def _has_no_more(fields: Mapping[str, Data], numerals: int | None) -> bool:
    """Whether no numeral stands below the root's own, so that nobody has to look for one."""
    return numerals == sum(value.__class__ is Numeral for value in fields.values())


def unsettled(fields: Mapping[str, Data], *, numbers_are_text: bool) -> Iterator[tuple[Path, str]]:
    """The places of the numerals that `settled` cannot turn into numbers, with their source."""
    for key, value in fields.items():
        yield from _unsettled(value, (key,), free=_is_free(key, at_root=True, text=numbers_are_text))


def _is_free(key: str, *, at_root: bool, text: bool) -> bool:
    if at_root and key in {"playbook", "policy"}:
        return True
    if at_root and key == "version":
        return False
    return not text or key in FREE_KEYS or key.startswith(EXTENSION_PREFIX)


def _settled(value: Data, free: bool | None) -> Json:  # noqa: FBT001 - called for every value
    """The value with its numerals settled; itself where it has none, because copies of what is large cost much.

    `free` is None where a numeral is text even below the free keys.
    """
    kind = value.__class__
    if kind is Numeral:
        return _number(cast("Numeral", value)) if free else str(value)
    if isinstance(value, dict):
        members: dict[str, Json] | None = None
        for key, each in value.items():
            if each.__class__ is not str:
                inner = free if free is not False else key in FREE_KEYS or key.startswith(EXTENSION_PREFIX)
                new = _settled(each, inner)
                if new is not each:
                    members = dict(value) if members is None else members
                    members[key] = new
        return value if members is None else members
    if isinstance(value, list):
        items: list[Json] | None = None
        for at, each in enumerate(value):
            if (kind := each.__class__) is not str:
                new = _number(each) if free and kind is Numeral else _settled(each, free)  # type: ignore[arg-type]
                if new is not each:
                    items = list(value) if items is None else items
                    items[at] = new
        return value if items is None else items
    return value


def _number(numeral: Numeral) -> int | float:
    number = number_of(numeral)
    if number is None:
        raise OutOfRange
    return number


def _unsettled(value: Data, at: Path, *, free: bool) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Numeral):
        if free and number_of(value) is None:
            yield at, str(value)
    elif isinstance(value, dict):
        for key, each in value.items():
            inner = free or key in FREE_KEYS or key.startswith(EXTENSION_PREFIX)
            yield from _unsettled(each, (*at, key), free=inner)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _unsettled(each, (*at, place), free=free)
