"""Which purposes say the same: equal once folded, or nearly the same words.

Only purposes that share a rare word are compared. Of two word sets whose Jaccard index is at least t, each has a word
of the other among its first n - ceil(t·n) + 1 in any fixed order; rare words first leave few to compare.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from typing import Final

from indexer.analysis import all_terms

SIMILAR_MIN: Final = 0.8
"""Shared words by all words, from which on two purposes are nearly the same."""
TERMS_MIN: Final = 6
"""A purpose of fewer different words is only compared as a whole: one word in five is no small change there."""
COMPARED_MAX: Final = 50
"""Purposes that one is compared with at most: thousands made from one template must not cost their square."""

_ARTICLES: Final = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class Wording:
    """A purpose as it is compared: its words in order, and the words of it and of its playbook's name as sets."""

    key: str
    terms: frozenset[str]
    name_terms: frozenset[str]


def wording_of(name: str, purpose: str) -> Wording:
    """The wording of one playbook's purpose; articles say nothing."""
    terms = [term for term in all_terms(purpose) if term not in _ARTICLES]
    key = " ".join(terms) or unicodedata.normalize("NFKC", purpose).casefold().strip()
    return Wording(key, frozenset(terms), frozenset(all_terms(name)))


def is_near(one: Wording, other: Wording) -> bool:
    """Whether two purposes say the same, as far as words show it."""
    if one.key == other.key:
        return True
    fewest, most = sorted((len(one.terms), len(other.terms)))
    if fewest < TERMS_MIN or fewest < SIMILAR_MIN * most:
        return False
    shared = len(one.terms & other.terms)
    if shared < SIMILAR_MIN * (fewest + most - shared):
        return False
    return not _are_told_apart(one, other)


def _are_told_apart(one: Wording, other: Wording) -> bool:
    """Whether each says something of its own that is meant to: a number, or a word of its name.

    `rotate-eu-key` for the EU and `rotate-us-key` for the US are two playbooks from one template and no duplicates.
    """
    return _has_mark(one.terms - other.terms, one) and _has_mark(other.terms - one.terms, other)


def _has_mark(terms: Iterable[str], of: Wording) -> bool:
    return any(term in of.name_terms or any(sign.isdigit() for sign in term) for term in terms)


class WordingIndex:
    """Wordings by their rare words. A place is a wording's position in the sequence that the index is made of."""

    def __init__(self, wordings: Sequence[Wording]) -> None:
        self._wordings = wordings
        self._frequency = Counter(term for wording in wordings for term in wording.terms)
        self._equal: defaultdict[str, list[int]] = defaultdict(list)
        self._with_rare: defaultdict[str, list[int]] = defaultdict(list)
        for place, wording in enumerate(wordings):
            self._equal[wording.key].append(place)
            for term in self._rare(wording):
                self._with_rare[term].append(place)

    def near(self, wording: Wording, most: int, wanted: Callable[[int], bool]) -> list[int]:
        """Up to `most` places of wordings that say the same as `wording` and that `wanted` says yes to, in order.

        Equal ones are never missed for others that are only similar. Of those that are similar, a purpose with more
        than 50 to compare, those with its rarest words first, may miss some.
        """
        found: list[int] = []
        for place in self._equal.get(wording.key, ()):
            if len(found) == most:
                return found
            if wanted(place):
                found.append(place)
        for place in islice(self._similar(wording, wanted), COMPARED_MAX):
            if len(found) == most:
                break
            if is_near(wording, self._wordings[place]):
                found.append(place)
        return sorted(found)

    def _similar(self, wording: Wording, wanted: Callable[[int], bool]) -> Iterator[int]:
        """The wanted places that share a rare word and are not equal, each once."""
        seen = set(self._equal.get(wording.key, ()))
        for term in self._rare(wording):
            for place in self._with_rare.get(term, ()):
                if place not in seen:
                    seen.add(place)
                    if wanted(place):
                        yield place

    def _rare(self, wording: Wording) -> list[str]:
        count = len(wording.terms)
        if count < TERMS_MIN:
            return []
        ordered = sorted(wording.terms, key=lambda term: (self._frequency[term], term))
        return ordered[: count - ceil(SIMILAR_MIN * count) + 1]
