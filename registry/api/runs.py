"""Runs: opening one of a playbook, recording one of a working tree's copy, and looking at them (http-api.md)."""

from collections.abc import Mapping

from litestar import Response, get, post
from litestar.params import FromPath

from registry.api.addresses import Address, choose_repository, require_repository
from registry.api.answers import NO_STORE, json_answer
from registry.api.bodies import RunBody, WorktreeRunBody
from registry.api.door import (
    HttpRequest,
    body_of,
    door_of,
    need_token,
    parameters_of,
    principal_of,
    respond,
    respond_json,
)
from registry.service.repositories import LIMIT_DEFAULT, LIMIT_MAX
from registry.service.runs import WorktreeCopy


@post("/v1/playbooks/{name:str}/runs")
async def open_run(request: HttpRequest, name: FromPath[str]) -> Response[bytes]:
    """Open a run of the copy that serves now: the run, and what is to be done, bound to the inputs."""
    door = door_of(request)
    # Before the body is read, so that a stranger learns nothing; asked there and not by a guard, so that it is counted.
    door.services.runs.admit(principal_of(request))
    repository = choose_repository(Address(None, None), parameters_of(request, "repository").text("repository"))
    body = await body_of(request, RunBody)
    opened = await door.call(
        door.services.runs.open,
        principal_of(request),
        repository,
        name,
        body.inputs,
        digest=body.digest,
        task=body.task,
        idempotency_key=_key(request),
    )
    return _created(opened.to_json(), is_new=not opened.repeated)


@post("/v1/runs")
async def record_run(request: HttpRequest) -> Response[bytes]:
    """Record a run of a working tree's copy, which its host has bound by itself."""
    door = door_of(request)
    door.services.runs.admit(principal_of(request))
    repository = require_repository(Address(None, None), parameters_of(request, "repository").text("repository"))
    body = await body_of(request, WorktreeRunBody)
    copy = WorktreeCopy(
        name=body.name,
        version=body.version,
        digest=body.digest,
        path=body.path,
        commit=body.commit,
        blob=body.blob,
        tags=body.tags,
        risk=body.risk,
    )
    recorded = await door.call(
        door.services.runs.record_worktree,
        principal_of(request),
        repository,
        copy,
        body.inputs,
        task=body.task,
        snapshot=body.snapshot,
        idempotency_key=_key(request),
    )
    run = recorded.run
    return _created({"run_id": run.id, "run": run.to_json()}, is_new=not recorded.repeated)


@get("/v1/runs", guards=[need_token])
async def list_runs(request: HttpRequest) -> Response[bytes]:
    """A page of the runs that the caller may look at, newest first."""
    door = door_of(request)
    parameters = parameters_of(request, "repository", "name", "cursor", "limit")
    page = await door.call(
        door.services.runs.list,
        principal_of(request),
        repository=choose_repository(Address(None, None), parameters.text("repository")),
        name=parameters.text("name"),
        cursor=parameters.text("cursor"),
        limit=parameters.number("limit", LIMIT_DEFAULT, least=1, most=LIMIT_MAX),
    )
    return respond_json(page, cache=NO_STORE)


@get("/v1/runs/{run_id:str}", guards=[need_token])
async def get_run(request: HttpRequest, run_id: FromPath[str]) -> Response[bytes]:
    """One run; in full with the procedure of the copy that it is pinned to."""
    door = door_of(request)
    parameters = parameters_of(request, "view")
    principal = principal_of(request)
    if parameters.choice("view", {"full"}) is None:
        return respond_json(await door.call(door.services.runs.get, principal, run_id), cache=NO_STORE)
    resumed = await door.call(door.services.runs.resume, principal, run_id)
    return respond_json(resumed.to_json(), cache=NO_STORE)


def _key(request: HttpRequest) -> str | None:
    """The Idempotency-Key, as it is or in the quotation marks of a structured field."""
    key = request.headers.get("idempotency-key")
    return None if key is None else key.strip().removeprefix('"').removesuffix('"')


def _created(value: Mapping[str, object], *, is_new: bool) -> Response[bytes]:
    answer = json_answer(value, status=201 if is_new else 200, cache=NO_STORE)
    answer.headers.append((b"location", f"/v1/runs/{value['run_id']}".encode()))
    return respond(answer)
