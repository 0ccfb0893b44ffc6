"""Analysis: text to terms, the same way for documents and for queries.

The order is NFKC, words, identifiers split, case folded, stop words out, English stems; scripts without spaces give
bigrams (search.md, Ranking). Terms hold no white space, so that an index of space-joined terms needs no analyser.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

import tantivy

KNOWN_WORDS_MAX = 16_384
KNOWN_LENGTH_MAX = 64
"""Words up to this length are taken apart once, as long as they are among the last so many."""
TERM_LENGTH_MAX = 64
"""Characters of a word that count; the rest is cut on both sides, so a long word still finds itself."""

TEXT_LENGTH_MAX = 262_144
"""Characters of one text that are read; a playbook is far below, a hostile one ends here."""

_ENGLISH = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with"
)
_PROSE = """
    i im ive id ill me my mine myself we us our ours were you your yours youre he she his her him its them those
    need needs needed want wants wanted like would could should can cant cannot may might must shall do does did
    doing done dont doesnt didnt have has had having help helps helping please kindly thanks thank hi hello hey ok
    okay let lets know tell give show get got getting going go gonna wanna try trying make sure some any something
    anything someone thing things stuff way how what whats when where which who whom whose why just also only really
    very quite now right here so too about from been being am than because while before after over up out off again
    more most other all both each few own same looking wondering able use using used
"""
STOP_WORDS = frozenset(_ENGLISH.split()) | frozenset(_PROSE.split())
"""Words that carry no topic: the usual English ones, and those of people and agents asking for something."""

# Combining marks are letters' parts in many scripts, yet not word characters to `re`.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u1ab0-\u1aff\u20d0-\u20ff"
_WORD = re.compile(rf"[^\W_][\w{_MARKS}]*(?:['\u2019][^\W_][\w{_MARKS}]*)*")
_CLITIC = re.compile(r"['\u2019](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_APOSTROPHE = re.compile(r"['\u2019]")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+[a-z]*")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U000323af"
)
_SPACELESS_RUN = re.compile(rf"([{_SPACELESS}]+)")
_NOT_NAME = re.compile(r"[^\w]+|_+")


def clean(text: str) -> str:
    """The text with what UTF-8 cannot carry replaced; every string that meets the index goes through here."""
    return text.encode("utf-8", "replace").decode("utf-8")


def fold_name(text: str) -> str:
    """A name or tag as it is compared: NFKC, case folded, every run of other characters one hyphen.

    Empty where the text has no letter and no digit.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", clean(text)).casefold())
    return "-".join(part for part in _NOT_NAME.split(folded) if part)


def fold_tag(text: str) -> str:
    """A tag as it is compared: like a name, or the text itself where nothing of it would be left."""
    return fold_name(text) or unicodedata.normalize("NFKC", clean(text).strip()).casefold()


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repetitions kept, stop words left out."""
    found: list[str] = []
    for word in _words(text):
        found += _known_terms(word) if len(word) <= KNOWN_LENGTH_MAX else _terms(word)
    return found


def all_terms(text: str) -> list[str]:
    """The terms of a text with its stop words: for names, where every word was chosen."""
    return _stems([part for word in _words(text) for part in _parts(word)])


def terms_of(texts: Iterable[str]) -> list[str]:
    """The terms of several texts, one after the other."""
    return [term for text in texts for term in terms(text)]


def _words(text: str) -> list[str]:
    """The words of a text as they stand there, in compatible forms of their letters."""
    return _WORD.findall(unicodedata.normalize("NFKC", clean(text[:TEXT_LENGTH_MAX])))


@functools.lru_cache(maxsize=KNOWN_WORDS_MAX)
def _known_terms(word: str) -> tuple[str, ...]:
    # Nearly every word of a playbook was seen in another one before.
    return _terms(word)


def _terms(word: str) -> tuple[str, ...]:
    return tuple(_stems([part for part in _parts(word) if part not in STOP_WORDS]))


def _parts(word: str) -> Iterator[str]:
    """The parts of one word: folded, identifiers split, scripts without spaces as bigrams."""
    word = _APOSTROPHE.sub("", _CLITIC.sub("", word))
    for piece in _SPACELESS_RUN.split(word) if not word.isascii() else (word,):
        if _SPACELESS_RUN.match(piece):
            yield from _bigrams(piece)
        else:
            yield from _identifier(piece)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for left, right in pairwise(run):
        yield left + right


def _identifier(word: str) -> Iterator[str]:
    """The parts of a snake or camel case word, and a camel case word whole too: `GitHub` is also `github`."""
    for piece in word.split("_"):
        if not piece:
            continue
        if piece.isascii() and _CAMEL.search(piece):
            yield from (part.lower()[:TERM_LENGTH_MAX] for part in _PART.findall(piece))
        yield piece.casefold()[:TERM_LENGTH_MAX]


def _stems(words: list[str]) -> list[str]:
    return _stemmer().analyze(" ".join(words)) if words else []


@functools.cache
def _stemmer() -> tantivy.TextAnalyzer:
    english = tantivy.Filter.stemmer("english")
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(english).build()
