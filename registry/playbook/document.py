"""The native document's shape (playbook-format.md, Native format), as models that check files and make the schema.

They check plain data after numbers were settled, and are strict: no value changes its kind. Keys that begin with
`x-` are allowed in every mapping; the reader drops the models' complaints about them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from registry.names import NAME_LENGTH_MAX, NAME_PATTERN

NAME_SHAPE: Final = f"^{NAME_PATTERN}$"
DATE_PATTERN: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
EXTENSION_PREFIX: Final = "x-"
# Whole subtrees that are the author's own JSON, in which a number is a number.
FREE_KEYS: Final = frozenset({"inputs", "with", "match", "input_schema", "output_schema"})

# The default of a field that may be left out. Only plain data is checked and kept, so nobody ever sees it; a None that
# is written in a file is refused, because a field that is there has a value.
ABSENT: Any = None

Text = Annotated[str, Field(pattern=r"\S")]
Name = Annotated[str, Field(pattern=NAME_SHAPE, max_length=NAME_LENGTH_MAX)]
Version = Annotated[
    Text,
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": r"\S"}, {"type": "number"}],
            "description": "Kept as written; put it in quotes. Semantic versions are advised.",
        }
    ),
]


def _is_one(value: object) -> object:
    # True equals 1 and is no number here.
    if value.__class__ is bool:
        raise ValueError("a version is a number")
    return value


FormatVersion = Annotated[Literal[1], BeforeValidator(_is_one)]
FreeMapping = Annotated[dict[str, object], WithJsonSchema({"type": "object"})]
InputSchema = Annotated[
    dict[str, object],
    WithJsonSchema(
        {
            "type": "object",
            "properties": {"type": {"const": "object"}},
            "required": ["type"],
            "description": "A JSON Schema (2020-12) of an object.",
        }
    ),
]


def allow_extensions(schema: JsonDict) -> None:
    """Lets keys that begin with `x-` into an object's JSON Schema."""
    schema["patternProperties"] = {f"^{EXTENSION_PREFIX}": True}


class Shape(BaseModel):
    """A mapping with known keys and no others, except extensions."""

    model_config = ConfigDict(strict=True, extra="forbid", json_schema_extra=allow_extensions)


class Check(Shape):
    """A tool call that shows whether a state holds."""

    tool: Text
    with_: FreeMapping = Field(ABSENT, alias="with", description="Bound arguments.")


class Precondition(Shape):
    """What must hold before the first step."""

    id: Text
    state: Text
    check: Check = ABSENT


class Step(Shape):
    """One step: what to do, and with which tools."""

    id: Text
    instruction: Text
    tool: Text = Field(ABSENT, description="The one tool of this step.")
    allowed_tools: list[Text] = Field(ABSENT, description="The tools among which the agent may choose.")
    with_: FreeMapping = Field(ABSENT, alias="with", description="Bound arguments.")
    expect: Text = Field(ABSENT, description="What is seen when the step went well.")


class Stop(Shape):
    """When to stop, and what to do then."""

    when: Text
    then: Literal["escalate", "fail"]
    ask: Text = Field(ABSENT, description="What to ask of the people who take over.")


class Verification(Shape):
    """What is true once the playbook has succeeded."""

    state: Text
    check: Check = ABSENT


class Tool(Shape):
    """A tool that steps name, with its contract."""

    name: Text
    source: Literal["primitive", "connector", "mcp"] = ABSENT
    description: Text = ABSENT
    permissions: list[Text] = ABSENT
    input_schema: FreeMapping = ABSENT
    output_schema: FreeMapping = ABSENT
    risk: Literal["read", "internal", "customer_comms", "money"] = ABSENT
    requires_approval: bool = ABSENT
    side_effecting: bool = ABSENT


class Connection(Shape):
    """An account with a provider; its name and purpose, never its credentials."""

    provider: Text
    auth_kind: Text = ABSENT
    scopes: list[Text] = ABSENT
    purpose: Text = ABSENT


class McpServer(Shape):
    """An MCP server by name; where it is, the host knows."""

    name: Text
    tools: list[Text] = ABSENT
    purpose: Text = ABSENT


class Secret(Shape):
    """A secret by name, never by value."""

    name: Text
    purpose: Text = ABSENT


class Requires(Shape):
    """What a host must have before it can run this: names and purposes only."""

    connections: list[Connection] = ABSENT
    mcp_servers: list[McpServer] = ABSENT
    secrets: list[Secret] = ABSENT


class Checkpoint(Shape):
    """An event that a governed run must show."""

    id: Text
    kind: Text
    required: bool = ABSENT
    match: FreeMapping = Field(ABSENT, description="What the event must carry.")


class Completion(Shape):
    """When a governed run counts as done."""

    condition: Text
    receipt: bool = ABSENT


class Runbook(Shape):
    """What makes the playbook a governed run."""

    mode: Literal["required", "advisory"]
    failure_policy: Text = ABSENT
    checkpoints: list[Checkpoint] = ABSENT
    completion: Completion = ABSENT


class Selection(Shape):
    """Tasks in people's words: those that must find this playbook, and near misses that must not."""

    should_find: list[Text] = ABSENT
    should_not_find: list[Text] = ABSENT


class Deprecated(Shape):
    """Since when not to use this, and what to use instead."""

    since: Text = ABSENT
    replaced_by: Name = ABSENT


class FrontMatter(Shape):
    """A native document's fields where Markdown's body may carry the steps."""

    playbook: FormatVersion = Field(description="The version of the format.")
    name: Name = Field(description="Verb first, in lower case with hyphens.")
    version: Version
    owner: Text = Field(description="The team that answers for it.")
    tags: list[Text] = ABSENT
    purpose: Text = Field(description="One paragraph; search ranks on it.")
    not_for: list[Text] = Field(ABSENT, description="Near misses; shown to the reader, never searched.")
    inputs: InputSchema = ABSENT
    preconditions: list[Precondition] = ABSENT
    tools: list[Tool] = ABSENT
    steps: list[Step] = Field(ABSENT, min_length=1)
    stop: list[Stop] = ABSENT
    verification: list[Verification] = ABSENT
    requires: Requires = ABSENT
    runbook: Runbook = ABSENT
    selection: Selection = ABSENT
    required: bool = Field(ABSENT, description="Local copies may not replace it. Central only.")
    deprecated: Deprecated = ABSENT


class NativeDocument(FrontMatter):
    """A playbook: a company's procedure with steps, conditions and checks."""

    steps: list[Step] = Field(min_length=1)


# The keys that a mapping may have, by where it stands (list positions left out), for suggestions.
SHAPES: Final[Mapping[tuple[str, ...], type[Shape]]] = MappingProxyType(
    {
        (): NativeDocument,
        ("preconditions",): Precondition,
        ("preconditions", "check"): Check,
        ("tools",): Tool,
        ("steps",): Step,
        ("stop",): Stop,
        ("verification",): Verification,
        ("verification", "check"): Check,
        ("requires",): Requires,
        ("requires", "connections"): Connection,
        ("requires", "mcp_servers"): McpServer,
        ("requires", "secrets"): Secret,
        ("runbook",): Runbook,
        ("runbook", "checkpoints"): Checkpoint,
        ("runbook", "completion"): Completion,
        ("selection",): Selection,
        ("deprecated",): Deprecated,
    }
)


def known_keys(shape: type[Shape]) -> tuple[str, ...]:
    """The keys of a shape as they are written."""
    return tuple(field.alias or name for name, field in shape.model_fields.items())
