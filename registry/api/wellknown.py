"""`/.well-known/…` (RFC 8615): documents at fixed paths that programs look for before they know anything else."""

from collections.abc import Awaitable, Callable, Mapping

from registry.api.answers import Answer, Scope
from registry.api.exchange import Exchange
from registry.api.front import Annex
from registry.api.problems import method_not_allowed
from registry.errors import Unknown

PATH = b"/.well-known"
_READS = frozenset({"GET", "HEAD"})

Document = Callable[[Scope, bytes], Awaitable[Answer]]
"""Answers a read of one document: the request's scope, and what its raw path has below the document's own."""


class WellKnown:
    """Answers reads below `/.well-known`, each from the document whose path it is or is below."""

    def __init__(self, documents: Mapping[bytes, Document]) -> None:
        self._documents = documents

    def annex(self) -> Annex:
        """The door to these documents. Whether a document is for everybody, it decides itself."""
        return Annex(PATH, "other", self._answer)

    async def _answer(self, scope: Scope, exchange: Exchange) -> Answer | None:  # noqa: ARG002 - an annex's signature
        tail: bytes = scope["raw_path"].removeprefix(PATH)
        for path, document in self._documents.items():
            if tail == path or tail.startswith(path + b"/"):
                if scope["method"] not in _READS:
                    return method_not_allowed("GET, HEAD")
                return await document(scope, tail[len(path) :])
        raise Unknown("route", "there is nothing at this path: /schema/openapi.json lists what there is.")
