"""`POST /v1/preview`: what a change would do, before it is merged (http-api.md)."""

import asyncio

from litestar import Response, post

from registry.api.bodies import read_body
from registry.api.door import Door, HttpRequest, door_of, parameters_of, respond_json
from registry.api.proposals import PREVIEW_BYTES_MAX, PreviewBody
from registry.digest import Json
from registry.errors import RequestInvalid, TooLarge

BODY_WITHIN_S = 30.0
VALUES_MAX = 500_000
"""Values in a body, counted by its commas: to parse millions of them holds the interpreter for half a second."""


@post("/v1/preview", status_code=200, request_max_body_size=None)
async def preview_change(request: HttpRequest) -> Response[bytes]:
    """The effect of a working copy on the catalogs in force; it is only looked at and never kept."""
    door = door_of(request)
    parameters_of(request)
    # The place is taken before the body is read: what waits holds megabytes.
    with door.previews.place():
        data = await _read(request)
        content_type = request.headers.get("content-type", "")
        return respond_json(await door.previews.work(_preview, door, data, content_type))


def _preview(door: Door, data: bytes, content_type: str) -> dict[str, Json]:
    # Reading the body takes a tenth of a second at its largest, so that it is done here and not on the event loop.
    if data.count(b",") > VALUES_MAX:
        raise TooLarge(f"the body has more than {VALUES_MAX} values, the most that is read here.")
    return door.services.previews.preview(read_body(PreviewBody, data, content_type).proposal())


async def _read(request: HttpRequest) -> bytes:
    chunks: list[bytes] = []
    size_bytes = 0
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for chunk in request.stream():
                size_bytes += len(chunk)
                if size_bytes > PREVIEW_BYTES_MAX:
                    raise TooLarge(f"the body is over {PREVIEW_BYTES_MAX // 2**20} MiB, the most that is read here.")
                chunks.append(chunk)
    except TimeoutError:
        raise RequestInvalid(f"the body was not there within {BODY_WITHIN_S:g} s: send it faster.") from None
    return b"".join(chunks)
