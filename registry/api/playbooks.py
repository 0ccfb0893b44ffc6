"""`/v1/playbooks`: one playbook with its contract or in another form, and why it is the one that serves."""

from litestar import Response, get
from litestar.params import FromPath

from registry.api.addresses import check_spelling
from registry.api.door import HttpRequest, door_of, parameters_of, respond, respond_json
from registry.api.exports import export_answer
from registry.api.parameters import Parameters
from registry.playbook.export.fields import FORMS
from registry.service.exports import export_playbook


@get("/v1/playbooks/{name:str}")
async def get_playbook(request: HttpRequest, name: FromPath[str]) -> Response[bytes]:
    """The effective entry, or exactly the copy that was asked for; with `as` the playbook in that form."""
    door = door_of(request)
    parameters = parameters_of(request, "repository", "version", "digest", "as")
    repository, form = _repository(parameters), parameters.choice("as", FORMS)
    version, digest = parameters.text("version"), parameters.text("digest")
    catalogs = door.services.catalogs
    if form is None:
        return respond_json(await door.call(catalogs.playbook, name, repository, version=version, digest=digest))
    found = await door.call(export_playbook, catalogs, name, repository, form, version=version, digest=digest)
    return respond(await export_answer(request, door, found))


@get("/v1/playbooks/{name:str}/explain")
async def explain_playbook(request: HttpRequest, name: FromPath[str]) -> Response[bytes]:
    """Every copy of that name, which one serves, and the decision in words."""
    door = door_of(request)
    parameters = parameters_of(request, "repository")
    return respond_json(await door.call(door.services.catalogs.explain, name, _repository(parameters)))


def _repository(parameters: Parameters) -> str | None:
    repository = parameters.text("repository")
    return None if repository is None else check_spelling(repository)
