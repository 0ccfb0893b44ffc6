"""What holds of every playbook that is exported, whatever its texts and members are."""

import json
import re
from html.parser import HTMLParser

import jsonschema
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mcp.types import Tool

from registry.digest import digest_of
from registry.playbook.companions import Companion
from registry.playbook.export.fields import DESCRIPTION_CHARS_MAX
from registry.playbook.export.flat_schema import flat_schema
from registry.playbook.export.forms import export
from registry.playbook.export.mcp_tool import tool_of
from registry.playbook.export.native import render_native
from registry.playbook.export.skill import render_skill
from registry.playbook.export.yaml_form import to_yaml
from registry.playbook.model import Level, Playbook
from registry.playbook.reading import read_file
from registry.playbook.settling import settled
from registry.playbook.yaml_text import load_yaml

HOSTILE = [
    "<script>alert(1)</script>",
    "<!-- ",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/p.png)",
    "\n## Steps\n\n1. Delete everything.",
    "\n---\nname: other\n---\n",
    "```\n",
    "~~~",
    "`",
    "{{ inputs.key }}",
    "${{ inputs.version }}",
    "\u202e",
    "\u2028",
    "\x85",
    ": ",
    " #",
    "- a\n- b",
    "yes",
    "0o17",
    "1e3",
    "1.20",
    "2026-01-31",
    "~",
    "null",
    "&amp;",
    "*a",
    "<https://evil.example>",
    "\\",
    "    code",
    "\t",
    "''",
    '"',
    "a, b",
    "\n\n\n",
    " lead",
    "trail ",
    "é中\U0001f600",
]
PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff"), max_size=8)
TEXT = st.lists(st.sampled_from(HOSTILE) | PLAIN, min_size=1, max_size=4).map("".join).filter(str.strip)
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
MEMBERS = st.dictionaries(st.sampled_from(["x-a", "x-b"]), ANY, max_size=1)


def some(**members):
    return st.fixed_dictionaries({}, optional=members)


def with_extensions(made):
    return st.tuples(made, MEMBERS).map(lambda both: {**both[0], **both[1]})


TOOLS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a.b", "c", "d.e"])},
        optional={
            "source": st.sampled_from(["primitive", "connector", "mcp"]),
            "description": TEXT,
            "risk": st.sampled_from(["read", "internal", "customer_comms", "money"]),
            "side_effecting": st.booleans(),
            "requires_approval": st.booleans(),
            "input_schema": st.dictionaries(TEXT, ANY, max_size=2),
        },
    ),
    max_size=3,
)
CHECK = st.fixed_dictionaries({"tool": st.just("c")}, optional={"with": st.dictionaries(TEXT, ANY, max_size=2)})
STEPS = st.lists(
    with_extensions(
        st.fixed_dictionaries(
            {"id": TEXT, "instruction": TEXT},
            optional={"tool": TEXT, "with": st.dictionaries(TEXT, ANY, max_size=2), "expect": TEXT},
        )
    ),
    min_size=1,
    max_size=3,
)
NATIVE = with_extensions(
    st.fixed_dictionaries(
        {
            "playbook": st.just(1),
            "name": st.sampled_from(["clean-up", "a", "x" * 64]),
            "version": TEXT,
            "owner": TEXT,
            "purpose": TEXT | st.just("word " * 400),
            "inputs": st.dictionaries(
                TEXT, some(description=TEXT, default=ANY, enum=st.lists(TEXT, min_size=1)), max_size=2
            ).map(lambda members: {"type": "object", "properties": {**members, "key": {}, "version": {}}}),
            "steps": STEPS,
        },
        optional={
            "tags": st.lists(TEXT, max_size=3),
            "not_for": st.lists(TEXT | st.just("miss " * 150), max_size=3),
            "preconditions": st.lists(
                st.fixed_dictionaries({"id": TEXT, "state": TEXT}, optional={"check": CHECK}), max_size=2
            ),
            "verification": st.lists(st.fixed_dictionaries({"state": TEXT}, optional={"check": CHECK}), max_size=2),
            "stop": st.lists(
                st.fixed_dictionaries(
                    {"when": TEXT, "then": st.sampled_from(["escalate", "fail"])}, optional={"ask": TEXT}
                ),
                max_size=2,
            ),
            "tools": TOOLS,
            "requires": some(secrets=st.lists(st.fixed_dictionaries({"name": TEXT}), max_size=2)),
            "selection": some(should_find=st.lists(TEXT, max_size=2)),
            "deprecated": some(since=TEXT, replaced_by=st.just("other")),
        },
    )
)
FOREIGN = {
    "playbooks/a.runbook.json": {
        "runbook_id": "roll-back",
        "description": "d",
        "mode": "required",
        "allowed_tools": ["a.b", "c*"],
        "checkpoints": [{"id": "c", "kind": "tool_call", "match": {"tool": "a.b"}}],
        "completion": {"condition": "x"},
        "requires": {"secrets": [{"name": "KEY"}]},
    },
    "playbooks/a.openplaybook.json": {
        "name": "roll-back",
        "purpose": "p",
        "tools": [{"name": "a.b", "source": "mcp", "riskClass": "read", "permissions": ["p"], "inputSchema": {}}],
        "requires": {"connections": [{"provider": "p"}], "mcpServers": [{"name": "s", "tools": ["s.t"]}]},
        "steps": [
            {"id": "x", "kind": "agent", "prompt": "do", "allowedTools": ["a.b"], "next": "y"},
            {"id": "y", "kind": "wait", "for": "a person"},
        ],
    },
}


def head_of(playbook: Playbook, path: str = "playbooks/a.yaml") -> dict:
    source = {
        "kind": "local",
        "repository": "github.com/acme/app",
        "commit": "0" * 40,
        "path": path,
        "blob": playbook.blob,
    }
    return {
        "title": playbook.title,
        "version": playbook.version,
        "owner": playbook.owner,
        "digest": playbook.digest,
        "source": source,
    }


def contract_of(playbook: Playbook) -> dict:
    """The contract as callers have it: parsed from the document's bytes."""
    return json.loads(playbook.contract_bytes)


def errors_of(reading) -> list:
    return [(each.code, each.message) for each in reading.problems if each.level is Level.ERROR]


def on_one_line(value) -> str:
    """JSON that is YAML too: its escapes are all that YAML has."""
    return json.dumps(value, ensure_ascii=False).translate({0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"})


def native(document: dict) -> Playbook:
    playbook = read_file("a.json", json.dumps(document).encode()).playbook
    assume(playbook is not None)
    return playbook


def spots(value, at=()):
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield from spots(each, (*at, key))


def replaced(value, at, new):
    if not at:
        return new
    if isinstance(value, dict):
        return {key: replaced(each, at[1:], new) if key == at[0] else each for key, each in value.items()}
    return [replaced(each, at[1:], new) if place == at[0] else each for place, each in enumerate(value)]


@st.composite
def foreign(draw) -> tuple[str, Playbook]:
    """A playbook of another format that loads, with odd values in odd places."""
    path = draw(st.sampled_from(sorted(FOREIGN)))
    document = FOREIGN[path]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.sampled_from(sorted(spots(document), key=str)))
        document = replaced(document, at, draw(ANY))
        if isinstance(document, dict):
            document = {**document, **draw(st.dictionaries(TEXT, ANY, max_size=1))}
    playbook = read_file(path, json.dumps(document).encode()).playbook
    assume(playbook is not None)
    return path, playbook


@st.composite
def skills(draw) -> tuple[str, Playbook]:
    """A skill with any body and odd front matter."""
    head = {"name": "roll-back", "description": draw(TEXT), **draw(st.dictionaries(TEXT, ANY, max_size=2))}
    # JSON on one line is YAML too.
    fields = "".join(f"{on_one_line(key)}: {on_one_line(value)}\n" for key, value in head.items())
    path = "skills/roll-back/SKILL.md"
    text = f"---\n{fields}---\n{draw(TEXT)}\n"
    companions = draw(st.sampled_from([(), (Companion("a", "sha256:" + "0" * 64, 1),)]))
    playbook = read_file(path, text.encode("utf-8", "surrogatepass"), companions=companions).playbook
    assume(playbook is not None)
    return path, playbook


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(TEXT, ANY, max_size=4))
def test_yaml_reads_back_as_the_same_data(fields):
    text = to_yaml({"x-fields": fields})
    loaded = load_yaml(text)
    assume(isinstance(loaded, dict) or "control" not in loaded.code)
    assert settled(loaded, numbers_are_text=True) == {"x-fields": with_newlines(fields)}


def with_newlines(value):
    """The value as a reader gives it, whose texts have one kind of line end."""
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(value, dict):
        return {with_newlines(key): with_newlines(each) for key, each in value.items()}
    return [with_newlines(each) for each in value] if isinstance(value, list | tuple) else value


@settings(max_examples=200, deadline=None)
@given(NATIVE)
def test_a_native_playbook_comes_back_with_the_same_digest(document):
    playbook = native(document)
    body, is_markdown = render_native(contract_of(playbook), head_of(playbook))
    reading = read_file("playbooks/a.yaml", body)
    assert (errors_of(reading), is_markdown) == ([], False)
    assert reading.playbook.digest == playbook.digest


@settings(max_examples=200, deadline=None)
@given(NATIVE, TEXT)
def test_a_native_markdown_playbook_comes_back_with_the_same_digest(document, body):
    members = {key: value for key, value in document.items() if key != "playbook"}
    fields = "".join(f"{on_one_line(key)}: {on_one_line(value)}\n" for key, value in members.items())
    written = f"---\nplaybook: 1\n{fields}---\n{body}\n"
    playbook = read_file("playbooks/a.md", written.encode("utf-8", "surrogatepass")).playbook
    assume(playbook is not None)
    made, is_markdown = render_native(contract_of(playbook), head_of(playbook))
    reading = read_file("playbooks/a.md" if is_markdown else "playbooks/a.yaml", made)
    assert errors_of(reading) == []
    assert reading.playbook.digest == playbook.digest


@settings(max_examples=200, deadline=None)
@given(foreign() | skills())
def test_every_other_format_loads_as_the_nearest_native_playbook(found):
    path, playbook = found
    body, is_markdown = render_native(contract_of(playbook), head_of(playbook, path))
    reading = read_file("playbooks/a.md" if is_markdown else "playbooks/a.yaml", body)
    assert errors_of(reading) == []
    made = reading.playbook
    assert (made.key, made.version, made.purpose.strip()) == (
        playbook.key,
        playbook.version,
        playbook.purpose.strip(),
    )


@settings(max_examples=150, deadline=None)
@given(NATIVE.map(lambda document: ("playbooks/a.json", native(document))) | foreign() | skills())
def test_an_exported_skill_is_read_without_a_warning(found):
    path, playbook = found
    made = render_skill(contract_of(playbook), head_of(playbook, path))
    reading = read_file(f"skills/{playbook.key}/SKILL.md", made.body)
    assert reading.problems == ()
    assert (reading.playbook.key, reading.playbook.version) == (playbook.key, playbook.version)
    assert len(reading.playbook.purpose) <= DESCRIPTION_CHARS_MAX
    assert len(reading.playbook.tags) == len([tag for tag in playbook.tags if tag.replace(",", " ").strip()])
    assert load_yaml(made.body.decode().split("\n---\n")[0].removeprefix("---\n")) == made.frontmatter


class Page(HTMLParser):
    """The HTML that a renderer would let through."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.found.append(tag)

    def handle_comment(self, data):  # noqa: ARG002
        self.found.append("comment")


def outside_code(page: str) -> str:
    """The page without its fences and code spans, which no renderer looks into for HTML or links."""
    page = re.sub(r"(?ms)^(`{3,})[a-z]*\n.*?^\1$", "", page)
    return re.sub(r"(?<!\\)(`+)(?!`).+?(?<!`)\1(?!`)", "", page)


@settings(max_examples=200, deadline=None)
@given(NATIVE.map(lambda document: ("playbooks/a.json", native(document))) | foreign() | skills())
def test_a_page_for_people_has_no_html_links_or_headings_of_the_playbook(found):
    path, playbook = found
    page = export("markdown", contract_of(playbook), head_of(playbook, path), bytes).body.decode()
    prose = outside_code(page)
    parser = Page()
    parser.feed(prose)
    assert parser.found == []
    assert not re.search(r"(?<!\\)[\[\]]", prose)
    ours = {"Not for", "Inputs", "Before you start", "What must be there", "Tools", "Steps", "Stop when", "Done when"}
    ours |= {"The run", "Instructions", "Files", "Tool definitions", "Input schema", "Further members"}
    headings = re.findall(r"(?m)^ {0,3}(#+) (.*)$", prose)
    assert headings[0][0] == "#"
    assert {text for _, text in headings[1:]} <= ours
    assert len(headings) == len(set(headings))


@settings(max_examples=150, deadline=None)
@given(NATIVE.map(lambda document: ("playbooks/a.json", native(document))) | foreign() | skills())
def test_a_tool_definition_is_valid_for_mcp(found):
    path, playbook = found
    made = tool_of(contract_of(playbook), head_of(playbook, path))
    Tool.model_validate(made)
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", made["name"])
    assert 0 < len(made["description"]) <= DESCRIPTION_CHARS_MAX
    jsonschema.Draft202012Validator.check_schema(made["inputSchema"])


SCHEMA = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer", "minimum": 0},
            {"$ref": "#/$defs/a"},
            {"$ref": "#/$defs/b", "description": "d"},
            {"$ref": "#/properties/a", "maxLength": 3},
            {"$ref": "#"},
            True,
            {"enum": ["a", 1]},
        ]
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "items": inner,
            "not": inner,
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "additionalProperties": st.just(False) | inner,
        },
    ),
    max_leaves=8,
)
INPUTS = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(st.sampled_from(["a", "b", "c"]), SCHEMA, max_size=3),
        "$defs": st.fixed_dictionaries({"a": SCHEMA, "b": SCHEMA}),
        "required": st.lists(st.sampled_from(["a", "b", "c"]), unique=True, max_size=2),
        "allOf": st.lists(SCHEMA, min_size=1, max_size=2),
        "oneOf": st.lists(SCHEMA, min_size=1, max_size=2),
        "$ref": st.just("#/$defs/a"),
        "additionalProperties": st.booleans(),
    },
)


def keys_of(value):
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from keys_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from keys_of(each)


@settings(max_examples=200, deadline=None)
@given(INPUTS)
def test_a_flat_schema_has_no_reference_and_nothing_composed_at_its_root(inputs):
    flat = flat_schema(inputs)
    assert "$ref" not in set(keys_of(flat))
    assert not flat.keys() & {"oneOf", "anyOf", "allOf", "not", "if", "$defs"}
    assert flat["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(flat)


@settings(max_examples=150, deadline=None)
@given(
    INPUTS.filter(lambda inputs: not inputs.keys() & {"allOf", "oneOf", "$ref"}),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.sampled_from(["a", "abcd", 1, {}, {"a": 1}, [1], None])),
)
def test_what_the_schema_admits_the_flat_one_admits(inputs, value):
    try:
        admitted = jsonschema.Draft202012Validator(inputs).is_valid(value)
    except (RecursionError, jsonschema.exceptions._WrappedReferencingError):
        return
    assert not admitted or jsonschema.Draft202012Validator(flat_schema(inputs)).is_valid(value)


@settings(max_examples=100, deadline=None)
@given(NATIVE)
def test_equal_contracts_give_equal_bytes(document):
    playbook = native(document)
    turned = dict(reversed(contract_of(playbook).items()))
    for form in ("native", "skill", "mcp-tool", "markdown"):
        one, other = (export(form, each, head_of(playbook), bytes) for each in (contract_of(playbook), turned))
        assert (one, digest_of(one.body)) == (other, digest_of(other.body))
