"""`/v1/tokens`: making, listing and ending tokens (admin), and who a token says that its holder is.

A token's value is in one answer, once.
"""

from litestar import Response, delete, get, post
from litestar.params import FromPath

from registry.api.answers import NO_STORE
from registry.api.bodies import TokenBody
from registry.api.door import HttpRequest, body_of, door_of, need_token, parameters_of, principal_of, respond_json
from registry.errors import RequestInvalid


@post("/v1/tokens", guards=[need_token])
async def create_token(request: HttpRequest) -> Response[bytes]:
    """The new token, with its value as `token`."""
    door = door_of(request)
    parameters_of(request)
    body = await body_of(request, TokenBody)
    if body.expires_at is not None and body.expires_at.tzinfo is None:
        raise RequestInvalid("expires_at has no time zone: write it in UTC, for example 2030-01-01T00:00:00Z.")
    token, secret = await door.call(
        door.services.tokens.create,
        principal_of(request),
        name=body.name,
        team=body.team,
        scopes=body.scopes,
        expires_at=body.expires_at,
    )
    return respond_json({**token, "token": secret}, status=201, cache=NO_STORE)


@get("/v1/tokens", guards=[need_token])
async def list_tokens(request: HttpRequest) -> Response[bytes]:
    """Every token, without values."""
    door = door_of(request)
    parameters_of(request)
    return respond_json(await door.call(door.services.tokens.list, principal_of(request)), cache=NO_STORE)


@delete("/v1/tokens/{token_id:str}", status_code=204, guards=[need_token])
async def revoke_token(request: HttpRequest, token_id: FromPath[str]) -> None:
    """End a token at once."""
    door = door_of(request)
    parameters_of(request)
    await door.call(door.services.tokens.revoke, principal_of(request), token_id)


@get("/v1/whoami")
async def get_caller(request: HttpRequest) -> Response[bytes]:
    """Who the caller is, as the token says, and whether it may read."""
    parameters_of(request)
    door = door_of(request)
    told = door.services.tokens.describe(principal_of(request), anonymous_read=door.anonymous_read)
    return respond_json(told, cache=NO_STORE)
