"""Numbers settled: text where the format wants text, JSON numbers where the author's own JSON stands."""

from collections.abc import Iterator, Mapping

from registry.digest import Json
from registry.playbook.document import EXTENSION_PREFIX, FREE_KEYS
from registry.playbook.text import Data, Numeral, Path, number_of


class OutOfRange(Exception):
    """A numeral that JSON has no number for; `unsettled` says where."""


def settled(fields: Mapping[str, Data], *, numbers_are_text: bool) -> dict[str, Json]:
    """The fields as plain JSON; raises OutOfRange.

    With `numbers_are_text` (YAML) a numeral is its source text except below the free keys; without (JSON) it is a
    number everywhere. `playbook` is a number and `version` a text in both.
    """
    return {
        key: _settled(value, free=_is_free(key, at_root=True, text=numbers_are_text)) for key, value in fields.items()
    }


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


def _settled(value: Data, *, free: bool) -> Json:
    kind = value.__class__
    if kind is str:
        return value
    if kind is Numeral:
        return _number(str(value)) if free else str(value)
    if isinstance(value, dict):
        return {
            key: _settled(each, free=free or key in FREE_KEYS or key.startswith(EXTENSION_PREFIX))
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_settled(each, free=free) for each in value]
    return value


def _number(numeral: str) -> int | float:
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
