"""`shadow-drift`: which commits changed central's copy since the local one was made from it.

What a file was at each commit of its history says where one was made from the other: the newest content that both had.
"""

import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from registry.catalog.revision import Head
from registry.digest import Json
from registry.playbook.foreign import VERSION_FROM_BLOB
from registry.playbook.model import Problem
from registry.playbook.problems import problem

COMMITS_SHOWN_MAX: Final = 10
COMMIT_DIGITS_SHOWN: Final = 12
ALIKE_MIN: Final = 0.5
"""Shared word pairs by all word pairs, from which on a copy with central's version is taken for one that follows it."""
SKETCH_SIZE: Final = 64
SKETCHED_CHARS_MAX: Final = 65_536

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One content of a playbook's file: what the commit brought in, as ids that are equal where the content is.

    `whole` is the object id of the file, of a skill that of its folder; `file` that of the file alone. `digest` is the
    document's where it loads and is made of this file alone. `version` and `sketch` are those of the document: None
    and nothing where it does not load, empty where nobody has read it.
    """

    commit: str
    whole: str
    file: str
    digest: str | None = None
    version: str | None = ""
    sketch: tuple[int, ...] = ()

    @property
    def loads(self) -> bool:
        """Whether a playbook was read in it, or might have been."""
        return self.version is not None


@dataclass(frozen=True, slots=True)
class Lineage:
    """Every content that a local copy's file had, as ids of each kind, and what its document says now."""

    wholes: frozenset[str]
    files: frozenset[str]
    digests: frozenset[str]
    sketch: tuple[int, ...]


def lineage_of(versions: Collection[FileVersion], sketch: tuple[int, ...]) -> Lineage:
    """The lineage of a copy from its file's history; `sketch` is that of the document that serves."""
    return Lineage(
        frozenset(item.whole for item in versions),
        frozenset(item.file for item in versions),
        frozenset(item.digest for item in versions if item.digest is not None),
        sketch,
    )


def sketch_of(contract: Mapping[str, Json]) -> tuple[int, ...]:
    """A document's word pairs as a sample of bounded size, sorted: the smallest of their hashes."""
    words = _WORD.findall(" ".join(_texts(contract))[:SKETCHED_CHARS_MAX].casefold())
    hashes = {zlib.crc32(f"{one} {other}".encode("utf-8", "replace")) for one, other in pairwise(words)}
    return tuple(sorted(hashes)[:SKETCH_SIZE])


def likeness(one: Sequence[int], other: Sequence[int]) -> float:
    """How much two documents have in common, 0 to 1: an estimate of the Jaccard index of their word pairs."""
    union = sorted({*one, *other})[:SKETCH_SIZE]
    if not union:
        return 0.0
    shared = {*one} & {*other}
    return sum(item in shared for item in union) / len(union)


def shadow_drift(local: Head, lineage: Lineage, central: Sequence[FileVersion]) -> Problem | None:
    """The remark on a local copy whose central one has moved on; `central` is its file's history, newest first.

    None where no content shows that one was made from the other, and where central's is still what it was.
    """
    served = [item for item in central if item.loads]
    place = _fork(local, lineage, served)
    if not place or _is_same(served[0], served[place]):
        return None
    commits = [item.commit[:COMMIT_DIGITS_SHOWN] for item in served[:place]]
    shown = ", ".join(commits[:COMMITS_SHOWN_MAX])
    more = f" and {len(commits) - COMMITS_SHOWN_MAX} more" if len(commits) > COMMITS_SHOWN_MAX else ""
    since = f" ({served[place].version})" if not _is_made(served[place].version) else ""
    count = "one commit" if len(commits) == 1 else f"{len(commits)} commits"
    message = (
        f"central's {local.name} has moved on since this copy was made from it{since}, by {count}: {shown}{more}. Take "
        "over what is good: commit central's file as it is and your changes after it, or give your copy central's "
        "version; or delete your copy."
    )
    return problem("shadow-drift", local.source.path, (1, 1), message, name=local.name)


def _fork(local: Head, lineage: Lineage, central: Sequence[FileVersion]) -> int | None:
    """The place of the newest central content that the copy had or follows, or None."""
    found = _first(item.whole in lineage.wholes or item.digest in lineage.digests for item in central)
    if found is None:
        # A skill of which only its SKILL.md was taken.
        found = _first(item.file in lineage.files for item in central)
    wanted = _base(local.version)
    # Where central changed and kept its version, the first content of that version is all that a copy can claim.
    follows = [
        place
        for place, item in enumerate(central)
        if wanted is not None and _base(item.version) == wanted and likeness(item.sketch, lineage.sketch) >= ALIKE_MIN
    ]
    return min((place for place in (found, *follows[-1:]) if place is not None), default=None)


def _first(hits: Iterator[bool]) -> int | None:
    return next((place for place, hit in enumerate(hits) if hit), None)


def _is_same(one: FileVersion, other: FileVersion) -> bool:
    return one.whole == other.whole or (one.digest is not None and one.digest == other.digest)


def _is_made(version: str | None) -> bool:
    """Whether a version says nothing: it was made from the file's bytes, or is not known."""
    return not version or version.startswith(VERSION_FROM_BLOB)


def _base(version: str | None) -> str | None:
    """A version without what stands behind a plus sign; None where it says nothing."""
    return None if _is_made(version) else str(version).partition("+")[0].strip()


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)
