"""A contract as Markdown sections: what a skill's body and a page for people both say."""

from collections.abc import Callable, Iterator
from typing import Final

from registry.digest import Json
from registry.playbook.export.fields import (
    Fields,
    list_of,
    mapping_of,
    mappings_of,
    text_of,
    texts_of,
)
from registry.playbook.export.flat_schema import flat_schema
from registry.playbook.export.pens import Pen, code, code_json

_STEP_KEYS: Final = frozenset({"id", "instruction", "tool", "allowed_tools", "with", "expect"})
_RISKS: Final = {"read": "reads only", "customer_comms": "speaks to customers", "money": "moves money"}
_REQUIRED_KINDS: Final = (
    ("connections", "provider", "Connection"),
    ("mcp_servers", "name", "MCP server"),
    ("secrets", "name", "Secret"),
)


def sections(contract: Fields, pen: Pen) -> Iterator[tuple[str, str]]:
    """(heading, Markdown) of everything that the contract says beyond its head, in the order in which it is used."""
    writers: tuple[tuple[str, Callable[[Fields, Pen], list[str]]], ...] = (
        ("Not for", _not_for),
        ("Inputs", _inputs),
        ("Before you start", _preconditions),
        ("What must be there", _requires),
        ("Tools", _tools),
        ("Steps", _steps),
        ("Stop when", _stop),
        ("Done when", _verification),
        ("The run", _runbook),
    )
    for heading, write in writers:
        if lines := write(contract, pen):
            yield heading, "\n".join(lines)
    if (instructions := text_of(contract, "instructions")) is not None:
        yield "Instructions", pen.verbatim(instructions)


def _not_for(contract: Fields, pen: Pen) -> list[str]:
    return [f"- {pen.line(each)}" for each in texts_of(contract, "not_for")]


def _inputs(contract: Fields, pen: Pen) -> list[str]:
    inputs = contract.get("inputs")
    schema = flat_schema(inputs if isinstance(inputs, dict) else None)
    required = texts_of(schema, "required")
    lines = []
    for name, each in mapping_of(schema, "properties").items():
        facts = dict(each) if isinstance(each, dict) else {}
        kind = facts.pop("type", None)
        said = facts.pop("description", None)
        kinds = " or ".join(str(item) for item in kind) if isinstance(kind, list) else str(kind or "any value")
        need = "required" if name in required else "optional"
        line = f"- {code(name)} ({pen.line(kinds)}, {need})"
        lines.append(f"{line}: {pen.line(said)}" if isinstance(said, str) and said.strip() else line)
        if facts:
            lines.append(f"  - Rules: {code_json(facts)}")
    return lines


def _preconditions(contract: Fields, pen: Pen) -> list[str]:
    return list(_states(mappings_of(contract, "preconditions"), pen))


def _verification(contract: Fields, pen: Pen) -> list[str]:
    return list(_states(mappings_of(contract, "verification"), pen))


def _states(items: list[Fields], pen: Pen) -> Iterator[str]:
    for item in items:
        yield f"- {pen.block(text_of(item, 'state') or '', 2)}"
        check = mapping_of(item, "check")
        if tool := text_of(check, "tool"):
            yield f"  - Check: {_call(tool, check)}"


def _call(tool: str, step: Fields) -> str:
    return f"{code(tool)} with {code_json(step['with'])}" if "with" in step else code(tool)


def _requires(contract: Fields, pen: Pen) -> list[str]:
    requires = mapping_of(contract, "requires")
    lines = []
    for key, named, word in _REQUIRED_KINDS:
        for item in mappings_of(requires, key):
            name = text_of(item, named)
            line = f"- {word} {code(name)}" if name else f"- {word}"
            if purpose := text_of(item, "purpose"):
                line += f": {pen.line(purpose)}"
            rest = {member: value for member, value in item.items() if member not in {named, "purpose"}}
            lines.append(f"{line} {code_json(rest)}" if rest else line)
    return lines


def _tools(contract: Fields, pen: Pen) -> list[str]:
    lines = []
    for tool in mappings_of(contract, "tools"):
        name = text_of(tool, "name")
        if name is None:
            continue
        facts = [_RISKS.get(str(tool.get("risk")), "")]
        facts.append("has side effects" if tool.get("side_effecting") is True else "")
        facts.append("needs an approval" if tool.get("requires_approval") is True else "")
        said = ", ".join(fact for fact in facts if fact)
        line = f"- {code(name)}{f' ({said})' if said else ''}"
        description = text_of(tool, "description")
        lines.append(f"{line}: {pen.line(description)}" if description else line)
    return lines


def _steps(contract: Fields, pen: Pen) -> list[str]:
    lines: list[str] = []
    for number, step in enumerate(list_of(contract, "steps"), 1):
        if not isinstance(step, dict):
            lines.append(f"{number}. {code_json(step)}")
            continue
        margin = " " * (len(str(number)) + 2)
        name = text_of(step, "id")
        instruction = pen.block(text_of(step, "instruction") or "", len(margin))
        lines.append(f"{number}. {f'**{pen.line(name)}**: ' if name else ''}{instruction}".rstrip())
        lines.extend(f"{margin}- {each}" for each in _step_facts(step, pen))
    return lines


def _step_facts(step: Fields, pen: Pen) -> Iterator[str]:
    if tool := text_of(step, "tool"):
        yield f"Tool: {_call(tool, step)}"
    if allowed := texts_of(step, "allowed_tools"):
        yield f"Tools to choose from: {', '.join(code(each) for each in allowed)}"
    if "with" in step and not text_of(step, "tool"):
        yield f"With: {code_json(step['with'])}"
    if expect := text_of(step, "expect"):
        yield f"Expect: {pen.line(expect)}"
    rest: dict[str, Json] = {
        key: value for key, value in step.items() if key not in _STEP_KEYS and value != step.get("instruction")
    }
    if rest:
        yield f"Also: {code_json(rest)}"


def _stop(contract: Fields, pen: Pen) -> list[str]:
    lines = []
    for item in mappings_of(contract, "stop"):
        does = "fail the run" if item.get("then") == "fail" else "stop and hand over to people"
        ask = text_of(item, "ask")
        lines.append(f"- {pen.block(text_of(item, 'when') or '', 2)}")
        lines.append(f"  - Then {does}{f', and ask: {pen.line(ask)}' if ask else '.'}")
    return lines


def _runbook(contract: Fields, pen: Pen) -> list[str]:
    runbook = mapping_of(contract, "runbook")
    if not runbook:
        return []
    mode = text_of(runbook, "mode")
    lines = [f"- Mode: {code(mode)}"] if mode else []
    if allowed := texts_of(runbook, "allowed_tools"):
        lines.append(f"- Tools that may be used: {', '.join(code(each) for each in allowed)}")
    for checkpoint in mappings_of(runbook, "checkpoints"):
        name = text_of(checkpoint, "id")
        need = "must be shown" if checkpoint.get("required") is True else "may be shown"
        rest = {key: value for key, value in checkpoint.items() if key not in {"id", "required"}}
        lines.append(f"- Checkpoint {code(name) if name else ''} {need}: {code_json(rest)}")
    for key in ("completion", "failure_policy"):
        value = runbook.get(key)
        if value is not None:
            shown = pen.line(value) if isinstance(value, str) else code_json(value)
            lines.append(f"- {'Completion' if key == 'completion' else 'On failure'}: {shown}")
    return lines
