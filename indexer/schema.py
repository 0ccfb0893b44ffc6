"""The index on disk: its fields and their format version.

History of FORMAT_VERSION, raised with every change of a field, of the analysis or of the tantivy release line:
1  id, scope, folded name and tags; the terms of `all` and `steps`; the stored content; sorted by scope.
"""

import functools
import hashlib
import json
import math
import sys
from dataclasses import dataclass
from typing import Final

import tantivy

from indexer.analysis import clean, fold_name, fold_tag
from indexer.document import ID_LENGTH_MAX_BYTES, Document, scope_ordinal
from indexer.tally import FIELDS, Content, content

FORMAT_VERSION: Final = 1

ID: Final = "id"
SCOPE: Final = "scope"
NAME_KEY: Final = "name_key"
TAG: Final = "tag"
ALL: Final = "all"
STEPS: Final = "steps"
RECORD: Final = "record"
SCOPE_ORDINAL: Final = "scope_ordinal"
KEY_HIGH: Final = "key_high"
KEY_LOW: Final = "key_low"
RECALL_WEIGHT: Final = "recall_weight"

_TYPICAL_LENGTH: Final = 60
"""Terms of `all` that neither favour nor hold back a document in recall; a constant, as an average would drift."""


@dataclass(frozen=True, slots=True)
class Record:
    """What the index gives back of a document: who it is, and its terms."""

    id: str
    scope: str
    digest: str
    name: str
    name_key: str
    content: Content


def schema() -> tantivy.Schema:
    """The fields of the index. Terms arrive analysed and joined by spaces, so no custom tokenizer is needed."""
    builder = tantivy.SchemaBuilder()
    for name in (ID, SCOPE, NAME_KEY, TAG):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in (ALL, STEPS):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option="basic")
    for name in (SCOPE_ORDINAL, KEY_HIGH, KEY_LOW):
        builder.add_unsigned_field(name, fast=True)
    builder.add_float_field(RECALL_WEIGHT, fast=True)
    builder.add_bytes_field(RECORD, stored=True)
    return builder.build()


def record(document: Document) -> Record:
    """What the index keeps of a document. Raises ValueError for an id longer than ID_LENGTH_MAX_BYTES."""
    document_id = clean(document.id)
    if len(document_id.encode()) > ID_LENGTH_MAX_BYTES:
        raise ValueError(
            f"the document id {document_id[:80]!r} is too long: {ID_LENGTH_MAX_BYTES} bytes at most, shorten its scope."
        )
    return Record(
        id=document_id,
        scope=clean(document.scope),
        digest=clean(document.digest),
        name=clean(document.name),
        name_key=fold_name(document.name),
        content=content(document),
    )


def row(document: Document) -> tantivy.Document:
    """A document as the index takes it; raises like `record`."""
    kept = record(document)
    stored = dump(kept)
    high, low = _key(stored)
    row = tantivy.Document()
    row.add_text(ID, kept.id)
    row.add_text(SCOPE, kept.scope)
    row.add_text(NAME_KEY, kept.name_key)
    for tag in sorted({fold_tag(tag) for tag in document.tags}):
        row.add_text(TAG, tag)
    row.add_text(ALL, " ".join(kept.content.terms("all")))
    row.add_text(STEPS, " ".join(kept.content.terms("steps")))
    row.add_bytes(RECORD, stored)
    row.add_unsigned(SCOPE_ORDINAL, scope_ordinal(kept.scope))
    row.add_unsigned(KEY_HIGH, high)
    row.add_unsigned(KEY_LOW, low)
    # The index multiplies by log2(2 + weight).
    row.add_float(RECALL_WEIGHT, math.exp2(recall_factor(kept.id, kept.content)) - 2.0)
    return row


def dump(kept: Record) -> bytes:
    """A record as it is stored."""
    parts = kept.content
    terms = [parts.occurrences, parts.lengths, sorted(parts.not_for)]
    return json.dumps([kept.id, kept.scope, kept.digest, kept.name, kept.name_key, terms], ensure_ascii=False).encode()


def load(stored: bytes) -> Record:
    """The record that `dump` wrote; equal terms and counts of different records are the same objects in memory."""
    document_id, scope, digest, name, name_key, (occurrences, lengths, not_for) = json.loads(stored)
    content = Content(
        occurrences={sys.intern(term): _shared(*counts) for term, counts in occurrences.items()},
        lengths=tuple(lengths),
        not_for=frozenset(map(sys.intern, not_for)),
    )
    return Record(id=document_id, scope=scope, digest=digest, name=name, name_key=name_key, content=content)


@functools.lru_cache(4_096)
def _shared(*counts: int) -> tuple[int, ...]:
    return counts


def _key(stored: bytes) -> tuple[int, int]:
    """128 bits of a hash as two numbers that the index can give without reading the document."""
    sha = hashlib.sha256(stored).digest()
    return int.from_bytes(sha[:8], "big"), int.from_bytes(sha[8:16], "big")


def recall_factor(document_id: str, content: Content) -> float:
    """What recall multiplies a document's matched weights by.

    Shorter documents count more, as in BM25 with one occurrence and a typical length. The last part, under a
    thousandth, keeps equal documents apart the same way in every index, so that the cut of the recall is stable.
    """
    length, shuffle = content.lengths[FIELDS.index("all")], _key(document_id.encode())[0]
    factor = 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * length / _TYPICAL_LENGTH))
    # The index takes a negative weight for none, so that nothing counts less than as it is.
    return max(1.0, factor * (1.0 + shuffle / 2**64 / 1_000))
