"""`/v1/audit`: who changed what, when and why (platform and admin tokens)."""

from litestar import Response, get

from registry.api.answers import NO_STORE
from registry.api.door import HttpRequest, door_of, need_token, parameters_of, principal_of, respond_json
from registry.service.repositories import LIMIT_DEFAULT, LIMIT_MAX


@get("/v1/audit", guards=[need_token])
async def list_audit(request: HttpRequest) -> Response[bytes]:
    """A page of entries, newest first."""
    door = door_of(request)
    parameters = parameters_of(request, "cursor", "limit")
    page = await door.call(
        door.services.audit.list,
        principal_of(request),
        cursor=parameters.text("cursor"),
        limit=parameters.number("limit", LIMIT_DEFAULT, least=1, most=LIMIT_MAX),
    )
    return respond_json(page, cache=NO_STORE)
