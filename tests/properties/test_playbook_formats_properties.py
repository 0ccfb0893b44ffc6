import json

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.digest import canonical, digest_of
from registry.playbook.model import Level
from registry.playbook.problems import PROBLEM_CODES
from registry.playbook.reading import read_file

SKILL = b"""\
---
name: roll-back
description: "Roll a release back: use it when errors rise."
version: 1.10
allowed-tools: Read, Bash(git log:*)
metadata: {owner: platform, tags: "a, b", deep: {x: [1e3]}}
license: MIT
---

# Roll back {{ x }}
"""
RUNBOOK = {
    "runbook_id": "roll-back",
    "title": "t",
    "description": "d",
    "version": "1",
    "owner": "o",
    "tags": ["t"],
    "mode": "required",
    "failure_policy": "fail_closed",
    "allowed_tools": ["a.b"],
    "checkpoints": [{"id": "c", "match": {"tool": "a.b"}}],
    "completion": {"condition": "x"},
    "requires": {"secrets": [{"name": "KEY"}]},
    "required": True,
}
OPENPLAYBOOK = {
    "name": "roll-back",
    "version": "1",
    "purpose": "p",
    "manifest": {"owner": "o", "tags": ["t"]},
    "tools": [{"name": "a.b", "source": "mcp", "riskClass": "read", "permissions": ["p"], "inputSchema": {}}],
    "requires": {"connections": [{"provider": "p"}], "mcpServers": [{"name": "s", "tools": ["s.t"]}], "secrets": []},
    "steps": [{"id": "x", "kind": "agent", "prompt": "do", "allowedTools": ["a.b"], "next": "x"}],
}
JSON_FILES = {"playbooks/a.runbook.json": RUNBOOK, "playbooks/a.openplaybook.json": OPENPLAYBOOK}
PIECES = [b"", b"&a ", b"*a", b"!x ", b"\x00", b"\xff", b"---\n", b": ", b"- ", b"\t", b"'", b'"', b"[", b"}", b"\r"]
CUTS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 12), st.sampled_from(PIECES)), min_size=1, max_size=4)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def holds(reading):
    assert all(each.line >= 1 and each.column >= 1 for each in reading.problems)
    assert {each.code for each in reading.problems} <= PROBLEM_CODES.keys()
    broken = any(each.level is Level.ERROR for each in reading.problems)
    assert (reading.playbook is not None) == (reading.candidate and not broken)
    if reading.playbook is not None:
        assert digest_of(canonical(reading.playbook.contract)) == reading.playbook.digest
        assert reading.playbook.contract["name"] == reading.playbook.key
        assert reading.playbook.purpose.strip()


def damaged(data, cuts):
    for at, length, piece in cuts:
        data = data[:at] + piece + data[at + length :]
    return data


def spots(value, at=()):
    """Every place in a JSON document."""
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield from spots(each, (*at, key))


def replaced(value, at, new):
    """The document with another value at one place."""
    if not at:
        return new
    if isinstance(value, dict):
        return {key: replaced(each, at[1:], new) if key == at[0] else each for key, each in value.items()}
    return [replaced(each, at[1:], new) if place == at[0] else each for place, each in enumerate(value)]


@settings(max_examples=200)
@given(CUTS)
def test_a_damaged_skill_gives_a_reading(cuts):
    reading = read_file("skills/roll-back/SKILL.md", damaged(SKILL, cuts))
    assert reading.candidate
    holds(reading)


@settings(max_examples=200)
@given(st.sampled_from(sorted(JSON_FILES)), CUTS)
def test_a_damaged_json_document_gives_a_reading(path, cuts):
    holds(read_file(path, damaged(json.dumps(JSON_FILES[path]).encode(), cuts)))


@settings(max_examples=400)
@given(st.sampled_from(sorted(JSON_FILES)), st.data(), st.sampled_from(["central", "service"]))
def test_any_value_in_any_place_of_a_json_document_gives_a_reading(path, data, role):
    document = JSON_FILES[path]
    for _ in range(2):
        document = replaced(document, data.draw(st.sampled_from(sorted(spots(document), key=str))), data.draw(ANY))
    holds(read_file(path, json.dumps(document).encode(), role=role))


@settings(max_examples=200)
@given(
    st.sampled_from(["name", "description", "version", "author", "tags", "metadata", "allowed-tools", "required", "x"]),
    ANY,
    st.sampled_from(["central", "service"]),
)
def test_any_value_under_any_key_of_a_skill_gives_a_reading(key, value, role):
    # JSON on one line is YAML too.
    head = {"name": "roll-back", "description": "d", key: value}
    text = "".join(f"{name}: {json.dumps(each)}\n" for name, each in head.items())
    holds(read_file("skills/roll-back/SKILL.md", f"---\n{text}---\nBody.\n".encode(), role=role))


@settings(max_examples=100)
@given(st.dictionaries(st.sampled_from("abcdefgh"), ANY.filter(lambda each: each == each), max_size=4))
def test_what_a_runbook_says_beyond_the_format_comes_back(members):
    reading = read_file("playbooks/a.runbook.json", json.dumps({**RUNBOOK, **members}).encode())
    if reading.playbook is not None:
        extra = reading.playbook.contract.get("extra", {})
        assert members.keys() <= extra.keys()
