"""What every controller is given: the services, the threads they run in, and the request's caller and repository."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from litestar import Request, Response
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from policies.access import Principal
from registry.api.addresses import Address, require_repository
from registry.api.answers import NO_CACHE, Answer, json_answer
from registry.api.bodies import BodyT, read_body
from registry.api.front import PRINCIPAL_KEY, REPOSITORY_KEY
from registry.api.parameters import Parameters, preferred_wait_s, read_parameters
from registry.api.threads import Threads
from registry.errors import Unauthenticated, Unknown
from registry.service.repositories import Outcome
from registry.service.services import Services

P = ParamSpec("P")
R = TypeVar("R")
HttpRequest = Request[Any, Any, Any]
Connection = ASGIConnection[Any, Any, Any, Any]
"""The framework's request; user, auth and state of its own are not used."""


@dataclass(frozen=True, slots=True)
class Door:
    """The services behind this application, and how they are called."""

    services: Services
    threads: Threads
    waiting: Threads
    previews: Threads
    evaluations: Threads
    metrics: Callable[[], bytes]
    openapi: bytes
    anonymous_read: bool

    async def call(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What a service's method returns or raises, from a thread."""
        return await self.threads.run(call, *args, **kwargs)

    async def wait(self, wait_s: float, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The same for a call that may take `wait_s` seconds: those that wait have threads of their own."""
        threads = self.waiting if wait_s > 0 else self.threads
        return await threads.run(call, *args, **kwargs)


def door_of(request: HttpRequest) -> Door:
    """The door that `create_app` put into the application."""
    door: Door = request.app.state.door
    return door


def principal_of(request: Connection) -> Principal | None:
    """Who the front found the caller to be. A request that did not pass the front is no request."""
    scope: dict[str, Any] = dict(request.scope)
    principal: Principal | None = scope[PRINCIPAL_KEY]
    return principal


async def need_token(connection: Connection, handler: BaseRouteHandler) -> None:  # noqa: ARG001 - a guard's signature
    """Nothing, if the caller has a valid token. Raises Unauthenticated.

    The guard of every call that nobody may make without one: it stands before everything that a body or a service
    would say, so that an answer tells a stranger nothing. Whether this token may do it is the service's to say.
    """
    if principal_of(connection) is None:
        raise Unauthenticated("this needs a token: send it as `Authorization: Bearer <token>`.")


def repository_of(request: HttpRequest) -> str:
    """The repository that the front read from the raw path or `?repository=`. Raises RepositoryInvalid."""
    scope: dict[str, Any] = dict(request.scope)
    if REPOSITORY_KEY not in scope:
        raise Unknown("route", "write /v1/repositories/{host}/{path}.")
    return require_repository(Address(scope[REPOSITORY_KEY], None), None)


def parameters_of(request: HttpRequest, *known: str) -> Parameters:
    """The query parameters of a call that takes those in `known`. Raises RequestInvalid for others."""
    query: bytes = request.scope["query_string"]
    return read_parameters(query, known)


async def body_of(request: HttpRequest, model: type[BodyT]) -> BodyT:
    """The JSON body of a call, read strictly. Raises RequestInvalid; the framework raises for one over 1 MiB."""
    return read_body(model, await request.body(), request.headers.get("content-type", ""))


def wait_of(request: HttpRequest) -> float | None:
    """The seconds of `Prefer: wait=`, None where there is none."""
    return preferred_wait_s(request.headers.get("prefer"))


def respond(answer: Answer) -> Response[bytes]:
    """The framework's response for an answer."""
    headers = {name.decode(): value.decode("latin-1") for name, value in answer.headers}
    media_type = headers.pop("content-type", None)
    return Response(answer.body, status_code=answer.status, headers=headers, media_type=media_type)


def respond_json(value: object, *, status: int = 200, cache: tuple[bytes, bytes] = NO_CACHE) -> Response[bytes]:
    """A response that carries `value` as JSON."""
    return respond(json_answer(value, status=status, cache=cache))


def respond_outcome(outcome: Outcome, wait_s: float | None, statuses: Collection[int] = ()) -> Response[bytes]:
    """The response for what a write came to: `statuses` (created, changed), else 200 when done and 202 when not."""
    if statuses:
        created, changed = statuses
        status = created if outcome.created else changed
    else:
        status = 200 if outcome.done else 202
    answer = json_answer(outcome.value, status=status)
    if wait_s is not None:
        answer.headers.append((b"preference-applied", f"wait={wait_s:g}".encode()))
    return respond(answer)
