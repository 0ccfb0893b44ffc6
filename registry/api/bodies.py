"""The JSON bodies that callers send: their shapes, and reading them strictly."""

import json
from collections import Counter
from contextlib import suppress
from datetime import date, datetime
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError, WithJsonSchema, field_validator

from registry.api.parameters import suggest
from registry.errors import RequestInvalid, TooLarge
from registry.playbook.roots import Roots

BODY_BYTES_MAX = 1024 * 1024
MEMBERS_MAX = 10_000
"""Members of one object that are read: each that is none would be told, and a megabyte of them takes seconds."""
_FAULTS_MAX = 10


class Body(BaseModel):
    """The root of every body: no member beyond those declared, no conversion between types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class AtFirstFault(FailFast):
    """A list is refused at its first fault: a megabyte of faults takes seconds to tell, with the interpreter held."""

    def __hash__(self) -> int:
        return hash(type(self))  # so that it can stand in a union


Texts = Annotated[tuple[str, ...], AtFirstFault()]

Inputs = Annotated[Any, WithJsonSchema({"type": "object", "additionalProperties": True})]
"""What a caller gives a run. Any JSON here: what is wrong with it is said by pointer, and not of the whole body."""


class RegistrationBody(Body):
    """`PUT /v1/repositories/{repository}`."""

    url: str = Field(min_length=1, max_length=2048, description="The remote to read, without a secret in it.")
    team: str = Field(min_length=1, max_length=200, description="The team it belongs to.")
    ref: str | None = Field(None, min_length=1, max_length=1024, description="Branch; default: the remote's HEAD.")
    paths: Texts | None = Field(
        None, max_length=64, description="Patterns of playbook files, instead of the usual places."
    )
    aliases: Texts = Field((), max_length=64, description="Other spellings of this repository.")
    credential: str | None = Field(None, max_length=200, description="The name of a credential, never its value.")

    @field_validator("paths")
    @classmethod
    def _can_be_read_by(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value == ():
            raise ValueError("an empty list reads nothing: leave paths out for the usual places")
        Roots(value)  # raises ValueError, with what to mend, for what could never be read
        return value


class ReasonBody(Body):
    """A change of policy with its reason."""

    reason: str = Field(min_length=1, max_length=2000, description="Why, for the audit log and for who is affected.")


class WaiverBody(ReasonBody):
    """`PUT /v1/policy/waivers/{name}`."""

    until: date = Field(description="The last day on which the waiver holds (UTC).")


class CommitBody(Body):
    """A commit that is put in force or accepted as it is."""

    commit: str = Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$", description="The full id of the commit.")


class TokenBody(Body):
    """`POST /v1/tokens`."""

    name: str = Field(min_length=1, max_length=200, description="Who will use it: a person or a service.")
    team: str | None = Field(None, min_length=1, max_length=200, description="The team it acts for.")
    scopes: Texts = Field(min_length=1, max_length=16, description="What it may do.")
    expires_at: datetime | None = Field(None, description="When it ends, with a time zone; default: never.")


class SearchBody(Body):
    """`POST /v1/search`."""

    q: str = Field("", description="The task in words, 32 KiB at most; empty lists by name.")
    repository: str | None = Field(None, description="Whose catalog is searched; default: the central one.")
    tag: Texts | str = Field((), description="Tags that every result must carry.")
    limit: int = Field(10, description="How many results at most, 1 to 50.")


class RunBody(Body):
    """`POST /v1/playbooks/{name}/runs`."""

    inputs: Inputs = Field(default_factory=dict, description="What the playbook asks for, as its schema says.")
    digest: str | None = Field(None, description="Exactly this copy: nothing is opened where another one serves.")
    task: str | None = Field(None, description="What the run is for, in the caller's words; 32 KiB at most.")


class WorktreeRunBody(Body):
    """`POST /v1/runs`."""

    name: str = Field(description="The playbook's name.")
    version: str = Field(description="The version that the copy says of itself.")
    digest: str = Field(description="sha256:<64 hex> of the copy's document, as the registry would make it.")
    path: str = Field(description="Where the file is, relative to the repository's root.")
    commit: str | None = Field(None, description="The working tree's head.")
    blob: str | None = Field(None, description="sha256:<64 hex> of the file's bytes.")
    tags: Texts = Field((), description="The copy's tags, which access rules may speak of.")
    risk: Texts = Field((), description="The risk classes of its tools, which access rules may speak of.")
    inputs: Inputs = Field(default_factory=dict, description="What it was bound to.")
    task: str | None = Field(None, description="What the run is for, in the caller's words; 32 KiB at most.")
    snapshot: str | None = Field(
        None, description="The catalog over which the working tree was laid; default: the one in force now."
    )


BodyT = TypeVar("BodyT", bound=Body)


def check_size(content_length: int | None) -> None:
    """Nothing, or TooLarge where a body announces or has more than BODY_BYTES_MAX bytes."""
    if content_length is not None and content_length > BODY_BYTES_MAX:
        raise TooLarge(f"the body is over {BODY_BYTES_MAX} bytes, the most that is read: send less.")


def read_body(model: type[BodyT], data: bytes, content_type: str) -> BodyT:
    """The body in `data`; raises RequestInvalid with every fault named.

    Only `application/json` is read: a form that a foreign page can make a browser send never is. A member that is
    there twice is refused, since two readers could disagree on which counts.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != "application/json" and not (
        media_type.startswith("application/") and media_type.endswith("+json")
    ):
        found = f"it is {media_type[:60]}" if media_type else "there is none"
        raise RequestInvalid(f"the Content-Type must be application/json, {found}: send the body as JSON.")
    # What would take long to refuse member by member is refused as a whole, first.
    with suppress(ValueError):
        try:
            json.loads(data, object_pairs_hook=_once)
        except RecursionError:
            raise RequestInvalid("the body is nested too deeply.") from None
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        _refuse(model, error)


def _refuse(model: type[Body], error: ValidationError) -> NoReturn:
    # The input stays out of the answer: a caller may have put a secret into the wrong member.
    faults = error.errors(include_url=False, include_context=False, include_input=False)[:_FAULTS_MAX]
    known = sorted(model.model_fields)
    listed: list[dict[str, str]] = []
    for fault in faults:
        member = ".".join(str(part) for part in fault["loc"])[:80]
        if fault["type"] == "extra_forbidden":
            problem = f"{member!r} is no member of this body: {suggest(member, known)}"
        elif fault["type"] == "missing":
            problem = f"{member} is missing."
        elif not member:
            problem = f"the body is not what this call takes: {fault['msg']}."
        else:
            problem = f"{member}: {fault['msg'].removeprefix('Value error, ').rstrip('.')}."
        listed.append({"member": member, "problem": problem})
    raise RequestInvalid(" ".join(item["problem"] for item in listed), errors=listed)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    seen = dict(pairs)
    if len(pairs) > MEMBERS_MAX:
        raise RequestInvalid(f"an object has {len(pairs)} members, {MEMBERS_MAX} are read at most.")
    if len(seen) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise RequestInvalid(f"{twice[:80]!r} is there twice in one object: send it once.", member=twice[:80])
    return seen
