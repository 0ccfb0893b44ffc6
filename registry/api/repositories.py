"""`/v1/repositories`: registrations, their problems, and the calls that make one be read (http-api.md).

The front has put the repository into the scope and `-` into the path, since an id has slashes in it.
"""

from litestar import Response, delete, get, post, put

from registry.api.answers import JSON, NO_CACHE, NOSNIFF, Answer
from registry.api.bodies import CommitBody, RegistrationBody
from registry.api.door import (
    HttpRequest,
    body_of,
    door_of,
    need_token,
    parameters_of,
    principal_of,
    repository_of,
    respond,
    respond_json,
    respond_outcome,
    wait_of,
)
from registry.service.repositories import LIMIT_DEFAULT, LIMIT_MAX, RegistrationRequest


@get("/v1/repositories")
async def list_repositories(request: HttpRequest) -> Response[bytes]:
    """A page of registrations with their sync status."""
    door = door_of(request)
    parameters = parameters_of(request, "state", "team", "has", "cursor", "limit", "repository")
    page = await door.call(
        door.services.repositories.list,
        state=parameters.text("state"),
        team=parameters.text("team"),
        has=parameters.text("has"),
        cursor=parameters.text("cursor"),
        limit=parameters.number("limit", LIMIT_DEFAULT, least=1, most=LIMIT_MAX),
    )
    return respond_json(page)


@get("/v1/repositories/{repository:str}")
async def get_repository(request: HttpRequest) -> Response[bytes]:
    """One registration with its sync status."""
    door = door_of(request)
    parameters_of(request, "repository")
    return respond_json(await door.call(door.services.repositories.get, repository_of(request)))


@get("/v1/repositories/{repository:str}/problems")
async def list_problems(request: HttpRequest) -> Response[bytes]:
    """Every file that did not load or wants attention."""
    door = door_of(request)
    parameters_of(request, "repository")
    return respond_json(await door.call(door.services.problems.of, repository_of(request)))


@get("/v1/repositories/{repository:str}/evaluation")
async def evaluate_repository(request: HttpRequest) -> Response[bytes]:
    """How the selection cases of the catalog in force come out."""
    door = door_of(request)
    parameters_of(request, "repository")
    repository = repository_of(request)
    report = await door.call(door.services.evaluations.made, repository)
    if report is None:
        report = await door.evaluations.run(door.services.evaluations.report, repository)
    return respond(Answer(200, [JSON, NOSNIFF, NO_CACHE], report))


@get("/v1/problems")
async def list_all_problems(request: HttpRequest) -> Response[bytes]:
    """A page of the problems of all repositories."""
    door = door_of(request)
    parameters = parameters_of(request, "code", "level", "team", "repository", "cursor", "limit")
    page = await door.call(
        door.services.problems.page,
        codes=parameters.texts("code"),
        level=parameters.text("level"),
        team=parameters.text("team"),
        repository=parameters.text("repository"),
        cursor=parameters.text("cursor"),
        limit=parameters.number("limit", LIMIT_DEFAULT, least=1, most=LIMIT_MAX),
    )
    return respond_json(page)


@put("/v1/repositories/{repository:str}", guards=[need_token])
async def register_repository(request: HttpRequest) -> Response[bytes]:
    """Register or change: 201 or 200, whatever the sync comes to."""
    door = door_of(request)
    parameters_of(request, "repository")
    repository = repository_of(request)
    body = await body_of(request, RegistrationBody)
    wait_s = wait_of(request)
    wanted = RegistrationRequest(
        url=body.url, team=body.team, ref=body.ref, paths=body.paths, aliases=body.aliases, credential=body.credential
    )
    outcome = await door.wait(
        wait_s or 0, door.services.repositories.register, principal_of(request), repository, wanted, wait_s or 0
    )
    return respond_outcome(outcome, wait_s, statuses=(201, 200))


@delete("/v1/repositories/{repository:str}", status_code=204, guards=[need_token])
async def deregister_repository(request: HttpRequest) -> None:
    """Deregister; what was published stays readable by digest."""
    door = door_of(request)
    parameters_of(request, "repository")
    await door.call(door.services.repositories.deregister, principal_of(request), repository_of(request))


@post("/v1/repositories/{repository:str}/sync", guards=[need_token])
async def sync_repository(request: HttpRequest) -> Response[bytes]:
    """Read the repository now: 200 when done, 202 when not yet."""
    door = door_of(request)
    parameters_of(request, "repository")
    wait_s = wait_of(request)
    outcome = await door.wait(
        wait_s or 0, door.services.repositories.sync, principal_of(request), repository_of(request), wait_s or 0
    )
    return respond_outcome(outcome, wait_s)


@post("/v1/repositories/{repository:str}/apply", guards=[need_token])
async def apply_revision(request: HttpRequest) -> Response[bytes]:
    """Put a suspended revision in force: 200 when done, 202 when not yet."""
    door = door_of(request)
    parameters_of(request, "repository")
    repository = repository_of(request)
    body = await body_of(request, CommitBody)
    wait_s = wait_of(request)
    outcome = await door.wait(
        wait_s or 0, door.services.repositories.apply, principal_of(request), repository, body.commit, wait_s or 0
    )
    return respond_outcome(outcome, wait_s)
