"""What machines read about the registry: the OpenAPI document and the JSON Schemas of its formats."""

import importlib.resources

from litestar import Response, get
from litestar.params import FromPath

from registry.api.answers import NO_CACHE, NOSNIFF, Answer
from registry.api.door import HttpRequest, door_of, parameters_of, respond
from registry.errors import Unknown

SCHEMA_FILES = ("playbook.v1.json", "policy.v1.json")
_OPENAPI = (b"content-type", b"application/vnd.oai.openapi+json;version=3.1")
_SCHEMA = (b"content-type", b"application/schema+json")


@get("/schema/openapi.json")
async def get_openapi(request: HttpRequest) -> Response[bytes]:
    """The OpenAPI document of every call."""
    parameters_of(request)
    return respond(Answer(200, [_OPENAPI, NOSNIFF, NO_CACHE], door_of(request).openapi))


@get("/schemas/{file:str}")
async def get_schema(request: HttpRequest, file: FromPath[str]) -> Response[bytes]:
    """The JSON Schema of the playbook format or of the policy file."""
    parameters_of(request)
    if file not in SCHEMA_FILES:
        raise Unknown("route", f"there is no schema of that name: there are {' and '.join(SCHEMA_FILES)}.")
    return respond(Answer(200, [_SCHEMA, NOSNIFF, NO_CACHE], await door_of(request).call(_read, file)))


def _read(file: str) -> bytes:
    """The schema as it is in the package, where it is committed beside the format."""
    return importlib.resources.files("registry.playbook").joinpath("schemas", file).read_bytes()
