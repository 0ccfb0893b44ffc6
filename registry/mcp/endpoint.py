"""`/mcp` and `/mcp/r/{repository}` (mcp.md): what a request must be before the SDK sees it.

Importing the SDK costs a second of CPU, so this module does without it. The server behind it is loaded in a thread
once the process is serving, or by the first request if that comes sooner.
"""

import asyncio
import contextlib
import gc
import importlib
import time
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from registry.api.addresses import check_spelling
from registry.api.answers import Answer, Message, Receive, Scope, Send
from registry.api.auth import Gate
from registry.api.exchange import Exchange
from registry.api.front import Annex
from registry.api.kinds import MISDIRECTED
from registry.api.parameters import read_parameters
from registry.api.problems import make_problem, method_not_allowed, problem_answer
from registry.api.threads import Pools
from registry.errors import Forbidden, RepositoryInvalid, TooManyRequests, Unauthenticated, Unavailable
from registry.mcp.admission import Admission, Network, caller_address, is_direct_loopback
from registry.mcp.calls import Observe, ToolCalls
from registry.mcp.features import CALLER_KEY, RATED_KEY, Caller, MakeFeature
from registry.mcp.rate import Rates
from registry.mcp.routing import ROOT, repository_of_path
from registry.oauth.metadata import HOST_SCOPES
from registry.service.services import Services

CHALLENGE = b"www-authenticate"
FORWARDED = frozenset({b"forwarded", b"via", b"x-real-ip", b"x-forwarded-host", b"x-forwarded-proto"})
"""Headers of proxies beside X-Forwarded-For: a request with one of them is somebody else's, wherever it comes from."""
READY_INTERVAL_S = 0.1
LOAD_WAIT_S = 30.0
"""How long a request waits for the server behind the endpoint to be loaded."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Guard:
    """What is asked of every request: its Host and Origin, and that its caller does not ask too often.

    `metadata_url` is where a caller without a valid token learns how to get one (RFC 9728), None where only this
    registry makes tokens.
    """

    admission: Admission
    rate_per_s: float
    trusted_proxies: Collection[Network] = ()
    metadata_url: str | None = None


class _Server(Protocol):
    """What is loaded; see registry.mcp.server."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def running(self) -> contextlib.AbstractAsyncContextManager[None]: ...

    def end_streams(self) -> None: ...


@dataclass(slots=True)
class _Headers:
    """The headers that the endpoint looks at; a list where they may repeat."""

    host: str | None = None
    origin: str | None = None
    authorization: bytes | None = None
    forwarded_for: list[str] = field(default_factory=list)
    is_forwarded: bool = False


class Endpoint:
    """Answers requests below `/mcp`; one for all repositories."""

    def __init__(
        self,
        services: Services,
        guard: Guard,
        *,
        features: Sequence[MakeFeature] = (),
        version: str,
        observe: Observe = lambda _tool, _outcome: None,
    ) -> None:
        self._services = services
        self._guard = guard
        self._features = features
        self._version = version
        self._observe = observe
        self._rates = Rates(guard.rate_per_s)
        self._gate: Gate | None = None
        self._pools: Pools | None = None
        self._loaded: asyncio.Future[_Server] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._ending = False

    def annex(self, gate: Gate, pools: Pools) -> Annex:
        """The door to this endpoint in an application with that gate and those threads; called once."""
        self._gate, self._pools = gate, pools
        return Annex(ROOT, "mcp", self._answer, self.running)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The server behind the endpoint is loaded when the process is ready, and ended with the block."""
        warming = asyncio.create_task(self._load_when_ready())
        try:
            yield
        finally:
            warming.cancel()
            await self._end()

    def end_streams(self) -> None:
        """End the streams that hosts hold open: the process is to stop."""
        self._ending = True
        if self._loaded is not None and self._loaded.done() and not self._loaded.exception():
            self._loaded.result().end_streams()

    async def _answer(self, scope: Scope, exchange: Exchange) -> Answer | None:
        headers = _read(scope["headers"])
        if not self._guard.admission.admits_host(headers.host):
            return _misdirected()
        if not self._guard.admission.admits_origin(headers.origin, headers.host):
            detail = "requests from this web page's origin are not admitted: name it in REGISTRY_MCP_ALLOWED_ORIGINS."
            return make_problem("forbidden", detail)
        try:
            return await self._admitted(scope, exchange, headers)
        except (Unauthenticated, Forbidden) as refusal:
            return self._challenged(refusal)

    async def _admitted(self, scope: Scope, exchange: Exchange, headers: _Headers) -> Answer | None:
        if self._gate is None:
            raise RuntimeError("annex() was not called")
        peer = (scope.get("client") or (None,))[0]
        address = caller_address(peer, headers.forwarded_for, self._guard.trusted_proxies)
        is_local = is_direct_loopback(peer, forwarded=headers.is_forwarded)
        try:
            principal = await self._gate.authenticate(headers.authorization)
        except Unauthenticated:
            if not is_local:
                # Whoever tries tokens is counted by address, as without one.
                self._take(address)
            raise
        caller = address if principal is None else f"principal {principal.name}"
        if not is_local:
            self._take(caller)
        self._gate.check_reader(principal)
        repository = _repository(scope)
        if repository is not None:
            # A URL that names none is the host's mistake, and for no model to find out at its first call.
            self._services.catalogs.asked(repository)
        if scope["method"] != "POST":
            return method_not_allowed("POST")
        body, _ = await exchange.read_body()
        server = await self._server()
        inner = {**scope, CALLER_KEY: Caller(repository, principal), RATED_KEY: caller}
        await server(inner, _replayed(body, exchange.receive), exchange.send)
        return None

    def _take(self, caller: str) -> None:
        wait_s = self._rates.take(caller, time.monotonic())
        if wait_s > 0:
            raise TooManyRequests(
                f"more than {self._guard.rate_per_s:g} requests a second came from this caller: slow down.",
                retry_after_s=max(1, round(wait_s + 0.5)),
            )

    def _challenged(self, refusal: Unauthenticated | Forbidden) -> Answer:
        answer = problem_answer(refusal)
        if self._guard.metadata_url is None:
            return answer
        where = f'scope="{" ".join(HOST_SCOPES)}", resource_metadata="{self._guard.metadata_url}"'.encode()
        if isinstance(refusal, Forbidden):
            challenge = b'Bearer realm="registry", error="insufficient_scope", ' + where
            return Answer(answer.status, [*answer.headers, (CHALLENGE, challenge)], answer.body)
        headers = [(name, value + b", " + where if name == CHALLENGE else value) for name, value in answer.headers]
        return Answer(answer.status, headers, answer.body)

    async def _server(self) -> _Server:
        if self._loaded is not None and self._loaded.done():
            return self._loaded.result()
        try:
            async with asyncio.timeout(LOAD_WAIT_S):
                return await asyncio.shield(self._load())
        except TimeoutError:
            raise Unavailable("the MCP server is being loaded: ask again in a moment.") from None

    async def _load_when_ready(self) -> None:
        while not self._services.health.ready()[0]:  # noqa: ASYNC110 - nothing tells a process that it is ready
            await asyncio.sleep(READY_INTERVAL_S)
        self._load()

    def _load(self) -> "asyncio.Future[_Server]":
        """The server, once it is loaded and running; loading begins with the first call."""
        if self._loaded is None:
            loop = asyncio.get_running_loop()
            self._loaded = loop.create_future()
            self._serving = loop.create_task(self._serve(self._loaded))
        return self._loaded

    async def _serve(self, loaded: "asyncio.Future[_Server]") -> None:
        try:
            server = await asyncio.to_thread(self._make)
            async with server.running():
                loaded.set_result(server)
                if self._ending:
                    server.end_streams()
                await asyncio.Event().wait()
        except Exception as error:
            if loaded.done():
                raise
            log.exception("the MCP server cannot be loaded")
            loaded.set_exception(error)

    def _make(self) -> _Server:
        if self._pools is None:
            raise RuntimeError("annex() was not called")
        module = importlib.import_module("registry.mcp.server")
        module.quiet_the_sdk()
        calls = ToolCalls(self._services, self._pools, self._observe)
        features = [make(self._services, self._pools) for make in self._features]
        server: _Server = module.McpServer(self._services, calls, features, self._version)
        # The SDK's classes and models stay for good: no collection needs to look at them.
        gc.freeze()
        return server

    async def _end(self) -> None:
        self.end_streams()
        if self._serving is not None:
            self._serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._serving


def _misdirected() -> Answer:
    return make_problem(
        MISDIRECTED,
        "this Host is not one that MCP is served under: set REGISTRY_PUBLIC_URL, or name it in "
        "REGISTRY_MCP_ALLOWED_HOSTS.",
    )


def _repository(scope: Scope) -> str | None:
    """The repository that the path or `?repository=` names. Raises as repository_of_path does, and RequestInvalid."""
    found = repository_of_path(scope["raw_path"])
    said = read_parameters(scope["query_string"], ("repository",)).text("repository")
    if said is None:
        return found
    if found is not None:
        raise RepositoryInvalid("the path and ?repository= both name a repository: send one of them.")
    return check_spelling(said)


def _read(headers: Sequence[tuple[bytes, bytes]]) -> _Headers:
    found = _Headers()
    for name, value in headers:
        if name == b"host":
            found.host = value.decode("latin-1")
        elif name == b"origin":
            found.origin = value.decode("latin-1")
        elif name == b"authorization":
            found.authorization = value if found.authorization is None else found.authorization + b", " + value
        elif name == b"x-forwarded-for":
            found.forwarded_for.append(value.decode("latin-1"))
            found.is_forwarded = True
        elif name in FORWARDED:
            found.is_forwarded = True
    return found


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once more, and then what comes after it."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay
