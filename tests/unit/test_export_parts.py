import pytest

from registry.playbook.export.fields import description_of
from registry.playbook.export.flat_schema import flat_schema
from registry.playbook.export.mcp_tool import annotations_of, tool_of
from registry.playbook.export.native import render_native
from registry.playbook.export.pens import Pen, code, fenced
from registry.playbook.export.skill import render_skill, skill_frontmatter
from registry.playbook.export.yaml_form import to_yaml

CAREFUL = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
SAFE, PLAIN = Pen(escapes=True), Pen(escapes=False)


def contract(**members):
    return {"document": "playbook/1", "name": "a", "purpose": "Do it.", **members}


# The description


def test_a_description_is_the_purpose_on_one_line_and_the_near_misses():
    said = description_of(contract(purpose="Do\n  it", not_for=["Pausing.", "Other things"]))
    assert said == "Do it. Not for: Pausing; Other things."


def test_near_misses_that_do_not_fit_are_left_out_one_by_one():
    said = description_of(contract(not_for=["one", "two", "three"]), 28)
    assert said == "Do it. Not for: one; two."


def test_a_long_purpose_is_cut_at_a_word():
    assert description_of(contract(purpose="word " * 300), 22) == "word word word word…"


def test_a_description_says_first_that_it_is_deprecated():
    said = description_of(contract(deprecated={"replaced_by": "b"}))
    assert said == "Deprecated, use b instead. Do it."


# Input schemas


def test_no_inputs_admit_nothing():
    assert flat_schema(None) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_reference_is_put_into_its_place():
    inputs = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/key", "description": "d"}},
        "$defs": {"key": {"type": "string"}},
    }
    assert flat_schema(inputs)["properties"] == {"a": {"type": "string", "description": "d"}}


def test_what_stands_beside_a_reference_holds_as_well():
    inputs = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/k", "maxLength": 3}},
        "$defs": {"k": {"pattern": "x"}},
    }
    assert flat_schema(inputs)["properties"] == {"a": {"maxLength": 3, "allOf": [{"pattern": "x"}]}}


def test_a_reference_round_a_circle_admits_anything_where_it_closes():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    inputs = {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    assert flat_schema(inputs)["properties"] == {"a": {"type": "object", "properties": {"next": {}}}}


def test_a_negation_of_a_circle_is_left_out():
    inputs = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}},
    }
    assert flat_schema(inputs)["properties"] == {"a": {}}


def test_members_of_alternatives_stand_side_by_side():
    inputs = {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}},
        "oneOf": [
            {"properties": {"kind": {"const": "a"}, "left": {"type": "string"}}, "required": ["left"]},
            {"properties": {"kind": {"const": "b"}, "right": {"type": "string"}}},
        ],
    }
    flat = flat_schema(inputs)
    assert flat["properties"] == {
        "kind": {"anyOf": [{"enum": ["a", "b"]}, {"const": "a"}, {"const": "b"}]},
        "left": {"type": "string"},
        "right": {"type": "string"},
    }
    assert "required" not in flat


def test_what_all_parts_need_is_needed():
    inputs = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {}},
        "allOf": [{"properties": {"b": {}}, "required": ["b"]}],
    }
    assert flat_schema(inputs)["required"] == ["a", "b"]


def test_references_that_double_again_and_again_end():
    defs = {f"d{n}": {"properties": {key: {"$ref": f"#/$defs/d{n + 1}"} for key in "ab"}} for n in range(30)}
    inputs = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/d0"}},
        "$defs": {**defs, "d30": {"type": "string"}},
    }
    assert len(str(flat_schema(inputs))) < 1_000_000


# Hints


@pytest.mark.parametrize(
    ("tools", "hints"),
    [
        ([], CAREFUL),
        (
            [{"name": "t", "risk": "read", "source": "primitive"}],
            {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        ),
        (
            [{"name": "t", "side_effecting": False, "risk": "internal"}],
            {**CAREFUL, "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True},
        ),
        ([{"name": "t", "risk": "read", "side_effecting": True}], CAREFUL),
        ([{"name": "t", "risk": "internal", "side_effecting": True}], CAREFUL),
        ([{"name": "t", "risk": "internal", "requires_approval": False}], {**CAREFUL, "destructiveHint": False}),
        ([{"name": "t", "risk": "money", "requires_approval": False}], CAREFUL),
        ([{"name": "t"}], CAREFUL),
        ([{"name": "other", "risk": "read"}], CAREFUL),
        ([{"name": "t", "risk": "read"}, {"name": "u", "risk": "money"}], CAREFUL),
    ],
)
def test_hints_follow_from_the_declared_tools(tools, hints):
    assert annotations_of(contract(tools=tools, steps=[{"id": "a", "instruction": "b", "tool": "t"}])) == hints


def test_a_tool_of_a_check_counts():
    check = {"state": "s", "check": {"tool": "other"}}
    assert annotations_of(contract(tools=[{"name": "t", "risk": "read"}], verification=[check])) == CAREFUL


def test_a_definition_leaves_out_of_meta_what_nobody_knows():
    assert tool_of(contract(), {"version": "1"})["_meta"] == {
        "playbook-registry/version": "1",
        "playbook-registry/document": "playbook/1",
    }


# Markdown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<b>bold</b> & co", "&lt;b&gt;bold&lt;/b&gt; &amp; co"),
        ("[x](javascript:y)", r"\[x\](javascript:y)"),
        ("![x](https://e)", r"\!\[x\](https://e)"),
        ("# x", r"\# x"),
        ("- x", r"\- x"),
        ("12. x", r"12\. x"),
        ("a\n\n## b", r"a \#\# b"),
        ("snake_case and _em_", r"snake_case and \_em\_"),
        ("a `b` ~~c~~ | d", r"a \`b\` \~\~c\~\~ \| d"),
        ("\\<b>", r"\\&lt;b&gt;"),
        ("left\u202eright", "left\ufffdright"),
        ("plain text, with (brackets).", "plain text, with (brackets)."),
    ],
)
def test_a_text_on_a_page_is_text(text, said):
    assert SAFE.line(text) == said


def test_lines_of_an_item_stay_inside_it():
    assert PLAIN.block("one\n\n## two\n  three", 3) == "one\n\n   ## two\n     three"


def test_lines_on_a_page_keep_their_ends_and_lose_their_margins():
    assert SAFE.block("one\n    two\n\n- three", 2) == "one\\\n  two\n\n  \\- three"


@pytest.mark.parametrize(
    ("text", "said"), [("a", "`a`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("", "(empty)"), ("a\nb", "`a b`")]
)
def test_a_code_span_cannot_be_left(text, said):
    assert code(text) == said


def test_a_fence_cannot_be_closed_from_inside():
    assert fenced("```\nx\n`````", "") == "``````\n```\nx\n`````\n``````"


# YAML


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain text", "plain text"),
        ("1.20", '"1.20"'),
        ("0o17", '"0o17"'),
        ("yes", '"yes"'),
        ("Null", '"Null"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("", '""'),
        ("- a", '"- a"'),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n", '"a\\n\\n"'),
        ("a\u2028b", '"a\\Lb"'),
        ("na\u00efve \u2013 done", "na\u00efve \u2013 done"),
    ],
)
def test_a_text_is_plain_only_where_nobody_mistakes_it(text, said):
    assert to_yaml({"k": text}) == f"k: {said}\n"


def test_equal_values_make_no_anchors():
    shared = ["a"]
    assert "&" not in to_yaml({"a": shared, "b": shared})


# Skills and native documents


def test_one_tag_with_a_blank_stays_one():
    assert skill_frontmatter(contract(tags=["on call"]), {})["metadata"]["tags"] == "on call,"


def test_a_skill_says_how_to_fill_in_inputs_only_where_there_are_some():
    filled = contract(steps=[{"id": "a", "instruction": "Do {{ inputs.x }}."}])
    other = contract(steps=[{"id": "a", "instruction": "Do {{ x }}."}])
    said = "put the value of the input"
    assert said in render_skill(filled, {}).body.decode()
    assert said not in render_skill(other, {}).body.decode()


def test_a_skill_does_not_depend_on_a_commit():
    heads = [{"version": "1", "source": {"repository": "r", "path": "p", "commit": each}} for each in "ab"]
    assert render_skill(contract(), heads[0]) == render_skill(contract(), heads[1])


def test_extensions_keep_their_place_in_a_native_document():
    step = {"id": "a", "instruction": "b", "x-c": 1}
    body, _ = render_native(contract(version="1", owner="o", steps=[step], extra={"x-d": True}), {})
    assert body.decode().endswith("    instruction: b\n    x-c: 1\nx-d: true\n")
