"""`requires` holds names and purposes: what looks like a value or an address is refused, and never quoted."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from registry.digest import Json
from registry.playbook.text import Path

CHARS_MAX: Final = 65_536

_VALUE_KEYS = frozenset(
    [
        "value",
        "values",
        "default",
        "url",
        "uri",
        "endpoint",
        "host",
        "address",
        "token",
        "password",
        "passwd",
        "secret",
        "api_key",
        "apikey",
        "key",
        "credential",
        "credentials",
        "private_key",
    ]
)
_ADDRESS = re.compile(r"[A-Za-z]://|\bwww\.|^[^\s/@]+@[^\s/@]+:", re.ASCII)
_KNOWN_VALUES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|AKIA|ASIA|AIza|sk-|sk_live_|"
    r"rk_live_|npm_|pypi-|hf_|dop_v1_|shpat_|SG\.)[A-Za-z0-9_\-.]{10,}|\beyJ[A-Za-z0-9_-]{10,200}\.[A-Za-z0-9_-]{5,}"
)
_RANDOM = re.compile(r"[A-Za-z0-9+/=_-]{32,}")


def secret_places(requires: Json) -> Iterator[tuple[Path, str]]:
    """Where a value or an address stands in `requires`, with a sentence that does not repeat it."""
    chars_left = CHARS_MAX
    for at, text, message in _texts(requires, ("requires",)):
        chars_left -= len(text)
        if chars_left < 0:
            yield at, f"more than {CHARS_MAX:,} characters stand in requires: it holds names and short purposes only."
            return
        if said := message or _about(text):
            yield at, said


def _texts(requires: Json, at: Path) -> Iterator[tuple[Path, str, str | None]]:
    """The texts in `requires`, or the sentence that is to be said of a key that has a value."""
    if isinstance(requires, Mapping):
        for key, each in requires.items():
            if len(at) > 1 and key.casefold() in _VALUE_KEYS:
                yield (
                    (*at, key),
                    "",
                    "requires never holds a value: remove this, and change the secret if it was real.",
                )
            else:
                yield from _texts(each, (*at, key))
    elif isinstance(requires, list):
        for place, each in enumerate(requires):
            yield from _texts(each, (*at, place))
    elif isinstance(requires, str):
        yield at, requires, None


def _about(text: str) -> str | None:
    if _ADDRESS.search(text):
        return "an address stands here: requires holds names only, the host knows the rest."
    if _KNOWN_VALUES.search(text) or _looks_random(text):
        return "this looks like a secret's value: write its name, and change the secret: git remembers it."
    return None


def _looks_random(text: str) -> bool:
    """A long run that mixes digits, small and capital letters as names do not."""
    return any(
        re.search("[0-9]", run) and re.search("[a-z]", run) and re.search("[A-Z]", run) and len(set(run)) >= 16
        for run in _RANDOM.findall(text)
    )
