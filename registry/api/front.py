"""The first function that sees a request: it answers the hot calls itself and hands the rest to the framework.

A plain ASGI function costs a quarter of what a routed handler costs per request. And only here can the raw path be
read, HEAD be answered for every GET, and every caller be authenticated before any route is looked up: a check inside
the router can be missed by a path that the router spells in another way.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from registry.api.addresses import Address, choose_repository, parse_address
from registry.api.answers import Answer, Application, Receive, Scope, Send, send_answer
from registry.api.auth import Gate
from registry.api.catalogs import CATALOGS, CatalogCalls, Wanted
from registry.api.exchange import Disconnected, Exchange
from registry.api.parameters import read_parameters
from registry.api.problems import method_not_allowed, problem_answer
from registry.api.search import SearchCalls
from registry.errors import Unknown

Observe = Callable[[str, int, float], None]
"""Told of every answer: the call, the status, the seconds it took."""

REPOSITORY_KEY = "registry.repository"
PRINCIPAL_KEY = "registry.principal"
REPOSITORIES = b"/v1/repositories"
OPEN_PATHS = frozenset({b"/healthz", b"/readyz", b"/schema/openapi.json"})
OPEN_BELOW = (b"/problems/", b"/schemas/")
READING_POSTS = frozenset({b"/v1/preview"})
"""Calls that read for all that they take a body: who may read may make them."""
SERVICE_CHECKED = frozenset({b"/v1/audit", b"/v1/tokens", b"/v1/runs", b"/v1/whoami"})
SERVICE_CHECKED_BELOW = b"/v1/runs/"
"""Reads that their services guard by more than reading; who may do that need not hold the reader's scope."""

_READS = frozenset({"GET", "HEAD"})
_IN_LIST = frozenset({"repository", "state", "team", "has", "cursor", "limit"})


@dataclass(frozen=True, slots=True)
class Annex:
    """Another door of the same application, with every path that is `path` or below it.

    `answer` admits its callers itself; it gives None where it has sent its answer. `call` is what it is counted as.
    `running`, where there is one, is entered for as long as the application lives.
    """

    path: bytes
    call: str
    answer: Callable[[Scope, Exchange], Awaitable[Answer | None]]
    running: Callable[[], AbstractAsyncContextManager[None]] | None = None


class Front:
    """The ASGI application: hot calls from `catalogs` and `search`, doors of their own, all else from `inner`."""

    def __init__(
        self,
        inner: Application,
        gate: Gate,
        catalogs: CatalogCalls,
        search: SearchCalls,
        observe: Observe | None,
        annexes: Sequence[Annex] = (),
    ) -> None:
        self._inner = inner
        self._annexes = annexes
        self._gate = gate
        self._search = search
        self._observe = observe
        self._ready = catalogs.ready
        self._by_prefix = (
            (CATALOGS, "catalog", catalogs.catalog),
            (b"/v1/snapshots", "snapshot", catalogs.snapshot),
            (b"/v1/documents", "document", catalogs.document),
            (b"/v1/blobs", "blob", catalogs.blob),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass a lifespan or websocket on."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began_at = time.perf_counter()
        ready = self._ready.find(scope) if self._gate.is_open and scope["method"] == "GET" else None
        if ready is not None:
            start, body = ready
            await send(start)
            await send(body)
            if self._observe is not None:
                self._observe("catalog", start["status"], time.perf_counter() - began_at)
            return
        annex = self._annex_of(scope["raw_path"])
        call = "other" if annex is None else annex.call
        exchange = Exchange(scope, receive, send)
        try:
            if annex is not None:
                answer = await annex.answer(scope, exchange)
            else:
                call, answer = await self._answer(scope, exchange)
        except Disconnected:
            return
        except Exception as error:
            # The last place that can turn an error into an answer.
            if exchange.status:
                raise
            answer = problem_answer(error)
        if answer is not None:
            await send_answer(exchange.send, answer, head=scope["method"] == "HEAD")
        if self._observe is not None:
            self._observe(call, exchange.status, time.perf_counter() - began_at)

    async def _answer(self, scope: Scope, exchange: Exchange) -> tuple[str, Answer | None]:
        """(call, answer), the answer None where the framework has sent it already."""
        authorization = accept_encoding = if_none_match = None
        for name, value in scope["headers"]:
            if name == b"authorization":
                authorization = value if authorization is None else authorization + b", " + value
            elif name == b"accept-encoding":
                accept_encoding = value if accept_encoding is None else accept_encoding + b"," + value
            elif name == b"if-none-match":
                if_none_match = value if if_none_match is None else if_none_match + b"," + value
        path: bytes = scope["raw_path"]
        principal = None if authorization is None else await self._gate.authenticate(authorization)
        method: str = scope["method"]
        for prefix, call, answer_call in self._by_prefix:
            if path.startswith(prefix) and path[len(prefix) : len(prefix) + 1] in {b"", b"/"}:
                self._gate.check_reader(principal)
                if method not in _READS:
                    return call, method_not_allowed("GET, HEAD")
                wanted = Wanted(accept_encoding, if_none_match)
                return call, await answer_call(path[len(prefix) :], scope["query_string"], wanted)
        if path == b"/v1/search":
            self._gate.check_reader(principal)
            return "search", await self._search_answer(scope, exchange)
        if path in READING_POSTS:
            self._gate.check_reader(principal)
        elif method in _READS and not _is_open(path) and not _is_service_checked(path):
            # The services decide on every write.
            self._gate.check_reader(principal)
        await self._pass_on({**scope, PRINCIPAL_KEY: principal}, exchange)
        return "other", None

    def _annex_of(self, path: bytes) -> Annex | None:
        return next((item for item in self._annexes if path == item.path or path.startswith(item.path + b"/")), None)

    async def _search_answer(self, scope: Scope, exchange: Exchange) -> Answer:
        if scope["method"] in _READS:
            return await self._search.by_query(scope["query_string"])
        if scope["method"] != "POST":
            return method_not_allowed("GET, HEAD, POST")
        data, content_type = await exchange.read_body()
        return await self._search.by_body(scope["query_string"], data, content_type)

    async def _pass_on(self, scope: Scope, exchange: Exchange) -> None:
        path: bytes = scope["raw_path"]
        if path.startswith(REPOSITORIES) and path[len(REPOSITORIES) : len(REPOSITORIES) + 1] in {b"", b"/"}:
            _address_repository(scope, parse_address(path[len(REPOSITORIES) :]))
        elif scope["path"].startswith(REPOSITORIES.decode()):
            # Another spelling of the same path, which the router would take without an address having been read.
            raise Unknown("route", "write /v1/repositories without escapes.")
        if scope["method"] == "HEAD":
            scope["method"] = "GET"
            exchange.leaves_body_out = True
        await self._inner(scope, exchange.receive, exchange.send)


def _is_open(path: bytes) -> bool:
    """Whether a path is read before a caller could have a token: probes, schemas, the pages about problems."""
    return path in OPEN_PATHS or path.startswith(OPEN_BELOW)


def _is_service_checked(path: bytes) -> bool:
    return path in SERVICE_CHECKED or path.startswith(SERVICE_CHECKED_BELOW)


def _address_repository(scope: Scope, address: Address) -> None:
    """Put the repository into the scope, and a path that a router can match into its place."""
    parameter = None
    if b"repository=" in scope["query_string"]:
        known = {*_IN_LIST} if address == Address(None, None) else {"repository"}
        parameter = read_parameters(scope["query_string"], known).text("repository")
    repository = choose_repository(address, parameter)
    if repository is None and address.sub_resource is None:
        scope["path"] = REPOSITORIES.decode()
        return
    scope[REPOSITORY_KEY] = repository
    below = "" if address.sub_resource is None else f"/{address.sub_resource}"
    scope["path"] = f"{REPOSITORIES.decode()}/-{below}"
