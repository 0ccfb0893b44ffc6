"""A vocabulary: which of a catalog's words are within one edit of a word, without trying every edit.

Two words are within one edit only if they, or what is left of them without one letter, meet; so each word is kept
under all of these. For one search it is quicker to try the edits (indexer.query); for thousands it is not.
"""

from collections.abc import Iterable, Iterator

from indexer.query import EDIT_LETTERS, TYPO_LENGTH_MIN


class Vocabulary:
    """The words of a catalog, to be asked for those near a word of TYPO_LENGTH_MIN letters or more."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words: dict[str, list[str]] = {}
        for word in dict.fromkeys(words):
            if len(word) >= TYPO_LENGTH_MIN - 1:
                for key in {word, *_shortened(word)}:
                    self._words.setdefault(key, []).append(word)

    def neighbours(self, word: str) -> frozenset[str]:
        """Those of the words that `indexer.query.within_one_edit` of `word` gives, without the word itself."""
        met = {near for key in {word, *_shortened(word)} for near in self._words.get(key, ())}
        return frozenset(near for near in met - {word} if _is_within_one_edit(word, near))


def _shortened(word: str) -> Iterator[str]:
    for place in range(len(word)):
        yield word[:place] + word[place + 1 :]


def _is_within_one_edit(word: str, near: str) -> bool:
    """Whether one edit makes `near` of another word that it meets; only EDIT_LETTERS are put in."""
    if len(near) < len(word):
        return True
    place = next((at for at, (old, new) in enumerate(zip(word, near, strict=False)) if old != new), len(word))
    if len(near) > len(word):
        return near[place] in EDIT_LETTERS
    head, tail = word[place : place + 2], near[place : place + 2]
    if word[place + 2 :] == near[place + 2 :] and len(head) > 1 and head == tail[::-1]:
        return True
    return word[place + 1 :] == near[place + 1 :] and near[place] in EDIT_LETTERS
