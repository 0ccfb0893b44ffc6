"""What one call of this application is, as data, and what several of them have in common."""

from dataclasses import dataclass

from registry.api.bodies import Body


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter: its meaning, whether it must be there, and its JSON Schema type."""

    name: str
    meaning: str
    required: bool = False
    type: str = "string"
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One method of one path.

    `answers` maps a status to what it means; `problems` are the codes that the call itself may answer with, besides
    those that any call may (see EVERY_CALL). `body` is what it takes, `media_type` what it gives and
    `other_media_types` what else it can give. Of one that `repeats`, the same request under one Idempotency-Key gets
    the same answer again.
    """

    method: str
    path: str
    summary: str
    answers: dict[int, str]
    group: str
    parameters: tuple[Parameter, ...] = ()
    body: type[Body] | None = None
    problems: tuple[str, ...] = ()
    media_type: str = "application/json"
    other_media_types: tuple[str, ...] = ()
    waits: bool = False
    repeats: bool = False
    conditional: bool = False
    is_open: bool = False


EVERY_CALL = ("request-invalid", "unauthenticated", "internal", "unavailable")

REPOSITORY = Parameter("repository", "The repository, in any spelling of its remote.")
NEEDED = Parameter("repository", REPOSITORY.meaning, required=True)
INSTEAD = Parameter("repository", "The repository in any spelling, instead of in the path.")
DIGEST = Parameter("digest", "sha256:<64 hex> of the copy, as its entry says.", required=True)
CURSOR = Parameter("cursor", "`next_cursor` of the page before.")
LIMIT = Parameter("limit", "Rows at most, 1 to 200; default 50.", type="integer")
ONE = ("repository-invalid", "repository-unknown")
WRITE = (*ONE, "forbidden", "too-large")
NAMED = ("name-invalid", "playbook-unknown", "forbidden", "too-large")
EXECUTE = (
    "forbidden",
    "refused",
    "repository-invalid",
    "playbook-unavailable",
    "inputs-invalid",
    "too-large",
    "conflict",
)
DONE = {200: "Done; the repository as it is now.", 202: "Not done yet; the repository as it is now."}
