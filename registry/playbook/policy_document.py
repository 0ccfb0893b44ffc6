"""The policy file's shape (merge.md, The policy file), as models that check it and make its schema."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from registry.playbook.document import ABSENT, DATE_PATTERN, FormatVersion, Shape, Text, allow_extensions

Day = Annotated[str, Field(pattern=DATE_PATTERN)]
Asked = Literal["required"]


def _exactly_one(*keys: str) -> ConfigDict:
    def extend(schema: JsonDict) -> None:
        allow_extensions(schema)
        schema["oneOf"] = [{"required": [key]} for key in keys]

    return ConfigDict(strict=True, extra="forbid", json_schema_extra=extend)


class RequiredRule(Shape):
    """Marks central playbooks by one name or one tag: no local copy may replace them."""

    model_config = _exactly_one("name", "tag")

    name: Text = ABSENT
    tag: Text = ABSENT
    reason: Text = ABSENT


class WaiverRule(Shape):
    """One repository's leave to serve its own copy of one required playbook, until the end of a day."""

    name: Text
    repository: Text
    until: Day = Field(description="The last day, such as 2027-01-31; it ends at midnight UTC.")
    reason: Text
    approved_by: Text


class Publication(Shape):
    """What a playbook must carry beyond its format."""

    owner: Asked = ABSENT
    tags: Asked = ABSENT
    purpose: Asked = ABSENT
    not_for: Asked = ABSENT
    inputs: Asked = ABSENT
    preconditions: Asked = ABSENT
    steps: Asked = ABSENT
    stop: Asked = ABSENT
    verification: Asked = ABSENT
    tools: Asked = ABSENT
    requires: Asked = ABSENT
    runbook: Asked = ABSENT
    selection: Asked = ABSENT


class Whom(Shape):
    """Principals and members of teams; `{}` is everybody."""

    teams: list[Text] = Field(ABSENT, min_length=1)
    principals: list[Text] = Field(ABSENT, min_length=1)


class AccessLine(Shape):
    """Who may execute what; the first line that matches decides.

    Lists are never empty: an empty list of teams, meant for nobody, would read as everybody.
    """

    model_config = _exactly_one("allow", "deny")

    allow: Whom = ABSENT
    deny: Whom = ABSENT
    names: list[Text] = Field(ABSENT, min_length=1)
    tags: list[Text] = Field(ABSENT, min_length=1)
    risk: list[Literal["read", "internal", "customer_comms", "money"]] = Field(ABSENT, min_length=1)
    unless: Whom = ABSENT
    reason: Text = ABSENT


class PolicyDocument(Shape):
    """The rules of a company for its playbooks, in the central repository."""

    policy: FormatVersion = Field(description="The version of the format.")
    required: list[RequiredRule] = ABSENT
    waivers: list[WaiverRule] = ABSENT
    publication: Publication = ABSENT
    access: list[AccessLine] = ABSENT
    worktree: Literal["allow", "deny"] = Field(
        ABSENT, description="Whether copies in working trees, which nobody reviewed, may run; never a required name's."
    )


POLICY_SHAPES: Final[Mapping[tuple[str, ...], type[Shape]]] = MappingProxyType(
    {
        (): PolicyDocument,
        ("required",): RequiredRule,
        ("waivers",): WaiverRule,
        ("publication",): Publication,
        ("access",): AccessLine,
        ("access", "allow"): Whom,
        ("access", "deny"): Whom,
        ("access", "unless"): Whom,
    }
)
