"""A look at the index from outside, while others read and write it: how many documents, and whether it is whole.

Opening an index makes lock files in its folder; its list of segments says as much, and reading that changes nothing.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from indexer import folder
from indexer.schema import FORMAT_VERSION

_META: Final = "meta.json"
_LOOKS: Final = 3
"""A writer may replace segments during a look; what is damaged stays so."""


@dataclass(frozen=True, slots=True)
class Census:
    """The index of this release's format `version`: None for `documents` where there is none or it is damaged.

    `others` names the folders beside it, sorted: other formats, and indexes that were replaced.
    """

    version: int
    exists: bool
    others: tuple[str, ...]
    damage: str | None
    documents: int | None


def take_census(path: Path) -> Census:
    """What lies in the folder of an index; one that does not exist is empty. Raises OSError for one that is hidden."""
    found = folder.current(path)
    beside = sorted(entry.name for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
    others = tuple(name for name in beside if found is None or name != found.name)
    if found is None:
        return Census(FORMAT_VERSION, exists=False, others=others, damage=None, documents=None)
    damage: str | None = None
    for _ in range(_LOOKS):
        damage = folder.damage(found)
        if damage is None:
            return Census(FORMAT_VERSION, exists=True, others=others, damage=None, documents=_count(found))
        found = folder.current(path) or found
    return Census(FORMAT_VERSION, exists=True, others=others, damage=damage, documents=None)


def _count(index: Path) -> int:
    meta = json.loads((index / _META).read_bytes())
    return sum(
        int(segment["max_doc"]) - int((segment.get("deletes") or {}).get("num_deleted_docs", 0))
        for segment in meta["segments"]
    )
