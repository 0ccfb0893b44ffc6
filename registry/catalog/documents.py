"""A playbook's document as the search index takes it."""

import json
from collections.abc import Iterator, Mapping

from indexer.document import Document, document_id
from registry.digest import Json

CENTRAL_SCOPE = "central"


def scope_of(kind: str, repository: str) -> str:
    """The index scope of a source: central's copies are shared, a local one is its repository's."""
    return CENTRAL_SCOPE if kind == "central" else repository


def to_document(contract: bytes, *, scope: str, digest: str, key: str) -> Document:
    """The index document of a stored document. The stored bytes alone suffice, so a lost index is made again."""
    return document_of(json.loads(contract), scope=scope, digest=digest, key=key)


def document_of(body: Mapping[str, Json], *, scope: str, digest: str, key: str) -> Document:
    """The same of a contract that was parsed already."""
    return Document(
        id=document_id(scope, digest),
        scope=scope,
        name=key,
        tags=tuple(_texts(body.get("tags"))),
        purpose=str(body.get("purpose") or ""),
        not_for=tuple(_texts(body.get("not_for"))),
        tasks=tuple(_texts(_member(body.get("selection"), "should_find"))),
        steps=tuple(_step_texts(body)),
        digest=digest,
    )


def near_misses(body: Mapping[str, Json]) -> tuple[str, ...]:
    """The tasks that a contract says must not find it; search does not read them."""
    return tuple(_texts(_member(body.get("selection"), "should_not_find")))


def _member(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, Mapping) else None


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))


def _step_texts(body: Mapping[str, Json]) -> Iterator[str]:
    steps = body.get("steps")
    for step in steps if isinstance(steps, list) else []:
        if isinstance(step, Mapping):
            yield " ".join(str(step[key]) for key in ("id", "tool", "instruction") if step.get(key))
    if isinstance(instructions := body.get("instructions"), str):
        yield instructions
