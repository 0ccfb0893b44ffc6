"""Which known word a mistyped one was meant to be."""

import re
from collections.abc import Iterable
from heapq import nsmallest

from registry.names import NAME_LENGTH_MAX, name_key

WORD_CHARS_MAX = 64
WORDS_COMPARED_MAX = 200
WORDS_LISTED_MAX = 24
NAME_RULE = f"use lower-case letters, digits and single hyphens, {NAME_LENGTH_MAX} characters at most."
_NO_KEY = re.compile("[^A-Za-z0-9]+")
_ALIKE_MIN = 0.3
_TYPOS_MAX = 2
_DISTANCES_MAX = 30


def distance(one: str, other: str, *, at_most: int) -> int:
    """The Levenshtein distance, or `at_most + 1` as soon as it is certain to be more."""
    if abs(len(one) - len(other)) > at_most or max(len(one), len(other)) > WORD_CHARS_MAX:
        return at_most + 1
    row = list(range(len(other) + 1))
    for at, char in enumerate(one, start=1):
        diagonal, row[0] = row[0], at
        for place, opposite in enumerate(other, start=1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (char != opposite))
        if min(row) > at_most:
            return at_most + 1
    return row[-1]


def nearest(word: str, known: Iterable[str], *, at_most: int = 2) -> str | None:
    """The known word closest to `word`, the first in alphabetical order of equals; None where none is close."""
    scored = ((distance(word.casefold(), candidate, at_most=at_most), candidate) for candidate in sorted(known))
    best = min(scored, default=(at_most + 1, ""))
    return best[1] if best[0] <= at_most else None


def alike(name: str, known: Iterable[str], *, at_most: int = 3) -> tuple[str, ...]:
    """The names of playbooks that could have been meant by `name`, the likeliest first: misspelt, or of the same words.

    Names are keys: lower case, their words apart by hyphens.
    """
    words = frozenset(name.split("-"))
    scores: dict[str, float] = {}
    ends: list[tuple[int, str]] = []
    for each in known:
        # Most names share neither a word nor an end with it, and cost no more than this.
        if any(word in each for word in words):
            others = frozenset(each.split("-"))
            scores[each] = len(words & others) / len(words | others)
        if abs(len(each) - len(name)) <= _TYPOS_MAX and (each[:1] == name[:1] or each[-1:] == name[-1:]):
            ends.append((-_common_ends(name, each), each))
    # A distance costs far more than the rest, and a misspelt name is right at its ends.
    for _, each in nsmallest(_DISTANCES_MAX, ends):
        off = distance(name, each, at_most=_TYPOS_MAX)
        if off <= min(_TYPOS_MAX, len(name) // 3):
            scores[each] = max(scores.get(each, 0.0), 1 - off / 10)
    likely = ((-score, each) for each, score in scores.items() if score >= _ALIKE_MIN)
    return tuple(each for _, each in nsmallest(at_most, likely))


def _common_ends(one: str, other: str) -> int:
    """How many characters both begin with, and how many they end with, together."""
    length = min(len(one), len(other))
    before = next((at for at in range(length) if one[at] != other[at]), length)
    after = next((at for at in range(length - before) if one[-1 - at] != other[-1 - at]), length - before)
    return before + after


def suggestion(word: str, known: Iterable[str]) -> str:
    """A clause that names what was probably meant, or that lists what there is."""
    words = sorted(known)[:WORDS_COMPARED_MAX]
    near = nearest(word, words, at_most=min(2, len(word) // 3))
    if near is not None:
        return f"did you mean {near}?"
    if not words:
        return "nothing is known here."
    return f"known here: {', '.join(words[:WORDS_LISTED_MAX])}{' …' if len(words) > WORDS_LISTED_MAX else '.'}"


def key_like(text: str) -> str | None:
    """The key of what is left of a name without the characters that no key has, or None where that is none."""
    return name_key(_NO_KEY.sub("-", text[: 4 * NAME_LENGTH_MAX]).strip("-"))


def quoted(text: str, *, chars: int = 60) -> str:
    """Foreign text as a message shows it: escaped, and cut after `chars` characters."""
    return repr(str(text)) if len(text) <= chars else repr(str(text[:chars])) + "…"
