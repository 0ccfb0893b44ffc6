"""`/v1/policy`: the rules in force, and the changes of them that do not come from git (http-api.md)."""

from litestar import Response, delete, get, post, put
from litestar.params import FromPath

from registry.api.addresses import Address, require_repository
from registry.api.bodies import CommitBody, ReasonBody, WaiverBody
from registry.api.door import (
    HttpRequest,
    body_of,
    door_of,
    need_token,
    parameters_of,
    principal_of,
    respond_json,
    respond_outcome,
    wait_of,
)
from registry.errors import RequestInvalid


@get("/v1/policy")
async def get_policy(request: HttpRequest) -> Response[bytes]:
    """Marks with their origin, waivers with their end, withdrawals, access."""
    door = door_of(request)
    parameters_of(request)
    return respond_json(await door.call(door.services.policy.rules))


@put("/v1/policy/required/{name:str}", guards=[need_token])
async def mark_required(request: HttpRequest, name: FromPath[str]) -> Response[bytes]:
    """Mark a central playbook as required; every later read of this process obeys it."""
    door = door_of(request)
    parameters_of(request)
    body = await body_of(request, ReasonBody)
    return respond_json(await door.call(door.services.policy.mark, principal_of(request), name, body.reason))


@delete("/v1/policy/required/{name:str}", status_code=200, guards=[need_token])
async def unmark_required(request: HttpRequest, name: FromPath[str]) -> Response[bytes]:
    """Take back a mark made here; `still_required_by` says where git requires it too."""
    door = door_of(request)
    parameters_of(request)
    return respond_json(await door.call(door.services.policy.unmark, principal_of(request), name))


@put("/v1/policy/waivers/{name:str}", guards=[need_token])
async def grant_waiver(request: HttpRequest, name: FromPath[str]) -> Response[bytes]:
    """Let one repository serve its own copy of one required playbook until a day is over."""
    door = door_of(request)
    repository = _repository(request)
    body = await body_of(request, WaiverBody)
    waiver = await door.call(
        door.services.policy.waive, principal_of(request), name, repository, body.until, body.reason
    )
    return respond_json(waiver)


@delete("/v1/policy/waivers/{name:str}", status_code=204, guards=[need_token])
async def end_waiver(request: HttpRequest, name: FromPath[str]) -> None:
    """End a waiver that was granted here."""
    door = door_of(request)
    await door.call(door.services.policy.unwaive, principal_of(request), name, _repository(request))


@put("/v1/policy/withdrawn/{name:str}", guards=[need_token])
async def withdraw_copy(request: HttpRequest, name: FromPath[str]) -> Response[bytes]:
    """Withdraw one copy, by its digest: it never serves again."""
    door = door_of(request)
    digest = _digest(request)
    body = await body_of(request, ReasonBody)
    withdrawal = await door.call(door.services.policy.withdraw, principal_of(request), name, digest, body.reason)
    return respond_json(withdrawal)


@delete("/v1/policy/withdrawn/{name:str}", status_code=204, guards=[need_token])
async def end_withdrawal(request: HttpRequest, name: FromPath[str]) -> None:
    """Take a withdrawal back."""
    door = door_of(request)
    await door.call(door.services.policy.unwithdraw, principal_of(request), name, _digest(request))


@post("/v1/policy/accept", guards=[need_token])
async def accept_policy(request: HttpRequest) -> Response[bytes]:
    """Take it as meant that central's policy file is gone or broken at its newest commit."""
    door = door_of(request)
    parameters_of(request)
    body = await body_of(request, CommitBody)
    wait_s = wait_of(request)
    outcome = await door.wait(wait_s or 0, door.services.policy.accept, principal_of(request), body.commit, wait_s or 0)
    return respond_outcome(outcome, wait_s)


def _repository(request: HttpRequest) -> str:
    return require_repository(Address(None, None), parameters_of(request, "repository").text("repository"))


def _digest(request: HttpRequest) -> str:
    digest = parameters_of(request, "digest").text("digest")
    if digest is None:
        raise RequestInvalid("?digest= is missing: it names the copy, as its entry in a catalog does.")
    return digest
