"""A catalog's playbooks to be searched in memory, by the ranking that the registry's own search has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from indexer import ranking, schema
from indexer.document import document_id
from indexer.memory import MemoryReader
from indexer.schema import Record
from indexer.tally import FIELDS, TERMS_PER_FIELD_MAX
from registry.catalog.documents import document_of, scope_of
from registry.client.snapshot import Entry
from registry.names import fold_tag

RECALL = 100
"""Hits that are looked at before the tags that a caller hopes for reorder them."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a search found: entries with their `score`, best first, and whether nothing of it stands out."""

    entries: tuple[Entry, ...]
    weak: bool


class Shelf:
    """The entries that serve, each with its contract. Records that `kept` has are not analysed again."""

    def __init__(self, playbooks: Iterable[tuple[Entry, Mapping[str, Any]]], kept: Mapping[str, Record]) -> None:
        self._entries: dict[str, Entry] = {}
        self.records: dict[str, Record] = {}
        tagged: list[tuple[Record, Sequence[str]]] = []
        for entry, contract in playbooks:
            source = entry["source"]
            scope = scope_of(source["kind"], source["repository"])
            place = document_id(scope, entry["digest"])
            record = kept.get(place)
            if record is None or record.name != entry["name"]:
                record = schema.record(document_of(contract, scope=scope, digest=entry["digest"], key=entry["name"]))
            self.records[place] = record
            self._entries[record.id] = entry
            tagged.append((record, entry["tags"]))
        self._reader = MemoryReader(tagged)

    def search(self, task: str, tags: Sequence[str] = (), limit: int = 5) -> Results:
        """The best playbooks for a task, `limit` at most; `tags` raise what carries them and drop nothing."""
        hits = self._reader.search(task, limit=RECALL)
        wanted = frozenset(fold_tag(tag) for tag in tags)
        if wanted:
            shares = {hit.id: len(wanted & self._tags(hit.id)) / len(wanted) for hit in hits}
            hits = ranking.favour(hits, shares)
        found = tuple({**self._entries[hit.id], "score": round(hit.score, 4)} for hit in hits[:limit])
        return Results(found, ranking.weak(hits))

    def _tags(self, place: str) -> frozenset[str]:
        return frozenset(fold_tag(tag) for tag in self._entries[place]["tags"])


def dump_records(records: Mapping[str, Record]) -> dict[str, Any]:
    """The records as they are kept on disk."""
    kept = {place: schema.dump(record).decode() for place, record in records.items()}
    return {"format": schema.FORMAT_VERSION, "records": kept}


def load_records(stored: Mapping[str, Any] | None) -> dict[str, Record]:
    """The records that `dump_records` wrote; none for anything else, and none of another format."""
    if stored is None or stored.get("format") != schema.FORMAT_VERSION:
        return {}
    try:
        records = {place: schema.load(record.encode()) for place, record in stored["records"].items()}
        return {place: record for place, record in records.items() if _is_sound(place, record)}
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _is_sound(place: str, record: Record) -> bool:
    """Whether a record is one that can be searched; a disk may give anything."""
    counts = record.content.occurrences.values()
    numbers = [*chain.from_iterable(counts), *record.content.lengths]
    texts = {type(text) for text in (record.id, record.scope, record.digest, record.name, record.name_key)}
    return (
        texts == {str}
        and record.id == place
        and {len(each) for each in (*counts, record.content.lengths)} == {len(FIELDS)}
        and set(map(type, numbers)) == {int}
        and min(numbers) >= 0
        and max(numbers) <= TERMS_PER_FIELD_MAX
    )
