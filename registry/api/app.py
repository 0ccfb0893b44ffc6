"""The ASGI application over the services."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import cast

from litestar import Litestar, Request, Response
from litestar.datastructures import State
from litestar.serialization import encode_json

from registry.api import audit, health, pages, playbooks, policy, preview, repositories, runs, schemas, tokens
from registry.api.answers import Application
from registry.api.auth import Gate
from registry.api.bodies import BODY_BYTES_MAX
from registry.api.catalogs import CatalogCalls
from registry.api.door import Door, respond
from registry.api.front import Annex, Front, Observe
from registry.api.openapi import openapi_document
from registry.api.problems import problem_answer
from registry.api.search import SearchCalls
from registry.api.threads import Pools, Threads
from registry.service.services import Services

ROUTES = (
    repositories.list_repositories,
    repositories.get_repository,
    repositories.list_problems,
    repositories.list_all_problems,
    repositories.evaluate_repository,
    repositories.register_repository,
    repositories.deregister_repository,
    repositories.sync_repository,
    repositories.apply_revision,
    playbooks.get_playbook,
    playbooks.explain_playbook,
    runs.open_run,
    runs.record_run,
    runs.list_runs,
    runs.get_run,
    preview.preview_change,
    policy.get_policy,
    policy.mark_required,
    policy.unmark_required,
    policy.grant_waiver,
    policy.end_waiver,
    policy.withdraw_copy,
    policy.end_withdrawal,
    policy.accept_policy,
    audit.list_audit,
    tokens.create_token,
    tokens.list_tokens,
    tokens.revoke_token,
    tokens.get_caller,
    health.get_liveness,
    health.get_readiness,
    health.get_metrics,
    schemas.get_openapi,
    schemas.get_schema,
    pages.get_problem_page,
)
"""What the framework routes; the front answers catalogs, snapshots, documents, blobs and search itself."""

DISTRIBUTION = "playbook-registry"
THREADS = 32
QUEUE_MAX = 2_048
SEARCH_THREADS = 4
LISTING_THREADS = 2
"""Lists of skills take up to seconds where thousands of playbooks were never rendered."""
WAITING_THREADS = 64
"""Calls with `Prefer: wait` hold a thread for up to a minute, so they have their own."""
PREVIEWS_QUEUE_MAX = 7
"""Previews are worked out one at a time, so that they hold up nobody but each other; each may wait with 8 MiB."""
EVALUATIONS_QUEUE_MAX = 63
"""Evaluations too, which take up to seconds where a catalog has thousands of cases."""


def create_app(
    services: Services,
    *,
    anonymous_read: bool,
    metrics: Callable[[], bytes] = bytes,
    observe: Observe | None = None,
    annexes: Callable[[Gate, Pools], Sequence[Annex]] = lambda _gate, _pools: (),
) -> Application:
    """The application, to be served by any ASGI server; its lifespan ends its threads, not the services.

    `anonymous_read` says whether reading needs a token. `metrics` gives Prometheus text; `observe` is told of every
    answer: the call (catalog, snapshot, document, blob, search, other), the status, the seconds.
    """
    threads = Threads("api", THREADS, QUEUE_MAX)
    waiting = Threads("api-wait", WAITING_THREADS, 0)
    previews = Threads("api-preview", 1, PREVIEWS_QUEUE_MAX)
    evaluations = Threads("api-evaluation", 1, EVALUATIONS_QUEUE_MAX)
    openapi = encode_json(openapi_document(version(DISTRIBUTION)))
    door = Door(services, threads, waiting, previews, evaluations, metrics, openapi, anonymous_read)

    gate = Gate(services.tokens, threads, anonymous_read=anonymous_read)
    searches = Threads("api-search", SEARCH_THREADS, QUEUE_MAX)
    listings = Threads("api-listing", LISTING_THREADS, QUEUE_MAX)
    beside = annexes(gate, Pools(threads, searches, listings))

    @asynccontextmanager
    async def threads_end(app: Litestar) -> AsyncIterator[None]:  # noqa: ARG001 - what the framework passes
        async with AsyncExitStack() as stack:
            for annex in beside:
                if annex.running is not None:
                    await stack.enter_async_context(annex.running())
            yield
        threads.close()
        searches.close()
        listings.close()
        waiting.close()
        previews.close()
        evaluations.close()

    inner = Litestar(
        route_handlers=list(ROUTES),
        exception_handlers={Exception: _answer_error},
        lifespan=[threads_end],
        openapi_config=None,
        logging_config=None,
        request_max_body_size=BODY_BYTES_MAX,
        state=State({"door": door}),
    )
    return Front(
        cast("Application", inner),
        gate,
        CatalogCalls(services.catalogs, threads, public=anonymous_read),
        SearchCalls(services.search, searches),
        observe,
        beside,
    )


def _answer_error(request: Request[object, object, State], error: Exception) -> Response[bytes]:  # noqa: ARG001
    return respond(problem_answer(error))
