"""The hot reads: catalogs in force, snapshots, documents and blobs, as bytes with their headers (http-api.md, Read).

A catalog in force, or that it has not changed, is answered from memory on the event loop, and what was answered is
kept in `ready` to be given again. Whatever needs work goes to a thread.
"""

import asyncio
from dataclasses import dataclass
from urllib.parse import unquote

from registry.api.addresses import choose_repository, parse_address
from registry.api.answers import (
    ATTACHMENT,
    JSON,
    NO_CACHE,
    NO_SCRIPTS,
    NOSNIFF,
    OCTETS,
    Answer,
    Headers,
)
from registry.api.conditional import ENCODABLE_BYTES_MIN, Encoding, etag_header, matches, negotiate
from registry.api.parameters import read_parameters
from registry.api.ready import ReadyAnswers
from registry.api.threads import Threads
from registry.errors import Unknown
from registry.service.catalogs import CatalogAnswer, Catalogs
from registry.service.views import instant

CATALOGS = b"/v1/catalogs"
VARY = (b"vary", b"Accept-Encoding")
QUESTIONS_MAX = 20_000
QUESTION_BYTES_MAX = 1_024
CATALOG_PARAMETERS = frozenset({"repository", "view", "registered"})
BLOBS_AT_ONCE = 4
"""Each has up to 16 MiB, and its packed bytes beside them while it is unpacked."""
IMMUTABLE_AGE_S = 31_536_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request says of the form of its answer: the values of two headers, None where absent."""

    accept_encoding: bytes | None = None
    if_none_match: bytes | None = None

    @property
    def encoding(self) -> Encoding | None:
        """The coding to answer with; None is the identity."""
        return negotiate(self.accept_encoding) if self.accept_encoding else None


@dataclass(frozen=True, slots=True)
class _Question:
    repository: str | None
    full: bool
    registered_required: bool


class CatalogCalls:
    """Answers `GET /v1/catalogs/…`, `/v1/snapshots/…`, `/v1/documents/…` and `/v1/blobs/…`."""

    def __init__(self, catalogs: Catalogs, threads: Threads, *, public: bool) -> None:
        self._catalogs = catalogs
        self._threads = threads
        scope = b"public" if public else b"private"
        self._immutable = (b"cache-control", scope + b", max-age=%d, immutable" % IMMUTABLE_AGE_S)
        # Emptied when full: it refills at the cost of a parse, and bookkeeping would cost every request.
        self._questions: dict[tuple[bytes, bytes], _Question] = {}
        self._blob_turns = asyncio.Semaphore(BLOBS_AT_ONCE)
        self.ready = ReadyAnswers(catalogs)

    async def catalog(self, tail: bytes, query: bytes, wanted: Wanted) -> Answer:
        """The snapshot in force of the repository in `tail` or `?repository=`, or 304 where the caller has it.

        Without either it is central's own.
        Raises RepositoryInvalid, RequestInvalid, Unknown and Unavailable.
        """
        question = self._questions.get((tail, query)) or self._ask(tail, query)
        unchanged = self._unchanged(question, wanted)
        if unchanged is not None:
            found, answer = unchanged
        else:
            found = await self._current(question)
            encoding = _encoding(found, wanted)
            headers = _headers(found, encoding)
            if wanted.if_none_match is not None and matches(wanted.if_none_match, found.etag):
                answer = Answer(304, headers)
            else:
                answer = Answer(200, headers, await self._encoded(found.etag, found.body, encoding))
        self.ready.keep(
            (CATALOGS + tail, query),
            (wanted.accept_encoding, wanted.if_none_match),
            answer,
            etag=found.etag,
            encoding=_encoding(found, wanted),
            validity=found.validity,
        )
        return answer

    def _unchanged(self, question: _Question, wanted: Wanted) -> tuple[CatalogAnswer, Answer] | None:
        """The 304 for a caller that has what is in force: no body is looked for, and none is composed."""
        if wanted.if_none_match is None or question.full:
            return None
        found = self._catalogs.peek_state(question.repository)
        if found is None or (question.registered_required and not found.registered):
            return None
        if not matches(wanted.if_none_match, found.etag):
            return None
        return found, Answer(304, _headers(found, _encoding(found, wanted)))

    async def _current(self, question: _Question) -> CatalogAnswer:
        found = self._catalogs.peek(question.repository, full=question.full)
        if found is not None and (found.registered or not question.registered_required):
            return found
        return await self._threads.run(
            self._catalogs.current,
            question.repository,
            full=question.full,
            registered_required=question.registered_required,
        )

    async def snapshot(self, tail: bytes, query: bytes, wanted: Wanted) -> Answer:
        """The immutable bytes of a snapshot that was handed out. Raises Unknown and SnapshotGone."""
        read_parameters(query, ())
        digest = _digest(tail)
        return await self._immutable_answer(digest, await self._threads.run(self._catalogs.snapshot, digest), wanted)

    async def document(self, tail: bytes, query: bytes, wanted: Wanted) -> Answer:
        """The immutable bytes of a document. Raises Unknown."""
        read_parameters(query, ())
        digest = _digest(tail)
        return await self._immutable_answer(digest, await self._threads.run(self._catalogs.document, digest), wanted)

    async def blob(self, tail: bytes, query: bytes, wanted: Wanted) -> Answer:
        """The immutable bytes of a file as git has them, to be saved and never shown. Raises Unknown.

        They are sent as they are: a coding of files of up to 16 MiB would drive catalogs out of the cache.
        """
        read_parameters(query, ())
        digest = _digest(tail)
        async with self._blob_turns:
            body = await self._threads.run(self._catalogs.blob, digest)
        headers = [OCTETS, NOSNIFF, ATTACHMENT, NO_SCRIPTS, self._immutable, (b"etag", etag_header(digest, None))]
        if wanted.if_none_match is not None and matches(wanted.if_none_match, digest):
            return Answer(304, headers)
        return Answer(200, headers, body)

    def _ask(self, tail: bytes, query: bytes) -> _Question:
        address = parse_address(tail)
        if address.sub_resource is not None:
            raise Unknown("route", f"a catalog has no {address.sub_resource} here.")
        parameters = read_parameters(query, CATALOG_PARAMETERS)
        question = _Question(
            repository=choose_repository(address, parameters.text("repository")),
            full=parameters.choice("view", ("full",)) is not None,
            registered_required=parameters.choice("registered", ("required",)) is not None,
        )
        if len(tail) + len(query) <= QUESTION_BYTES_MAX:
            if len(self._questions) >= QUESTIONS_MAX:
                self._questions.clear()
            self._questions[tail, query] = question
        return question

    async def _immutable_answer(self, digest: str, body: bytes, wanted: Wanted) -> Answer:
        encoding = wanted.encoding if len(body) >= ENCODABLE_BYTES_MIN else None
        headers = [JSON, NOSNIFF, self._immutable, *_form(digest, encoding)]
        if wanted.if_none_match is not None and matches(wanted.if_none_match, digest):
            return Answer(304, headers)
        return Answer(200, headers, await self._encoded(digest, body, encoding))

    async def _encoded(self, etag: str, body: bytes, encoding: Encoding | None) -> bytes:
        if encoding is None:
            return body
        encoded = self._catalogs.peek_body(etag, encoding)
        return encoded if encoded is not None else await self._threads.run(self._catalogs.encoded, etag, body, encoding)


def _encoding(answer: CatalogAnswer, wanted: Wanted) -> Encoding | None:
    return wanted.encoding if answer.size_bytes >= ENCODABLE_BYTES_MIN else None


def _headers(answer: CatalogAnswer, encoding: Encoding | None) -> Headers:
    headers = [JSON, NOSNIFF, NO_CACHE, *_form(answer.etag, encoding), (b"catalog-digest", answer.digest.encode())]
    if answer.commit:
        headers.append((b"catalog-commit", answer.commit.encode()))
    if answer.synced_at is not None:
        headers.append((b"catalog-synced-at", (instant(answer.synced_at) or "").encode()))
    headers.append((b"catalog-state", _state(answer)))
    return headers


def _form(etag: str, encoding: Encoding | None) -> Headers:
    headers = [(b"etag", etag_header(etag, encoding)), VARY]
    return [*headers, (b"content-encoding", encoding.encode())] if encoding else headers


def _state(answer: CatalogAnswer) -> bytes:
    freshness = b"fresh" if answer.fresh else b"stale"
    return b"%s; age=%d%s" % (freshness, answer.age_s, b"" if answer.registered else b"; unregistered")


def _digest(tail: bytes) -> str:
    return unquote(tail.removeprefix(b"/").decode("latin-1"))
