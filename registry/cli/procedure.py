"""A procedure as a person reads it on a terminal."""

import json
from typing import Any

from registry.cli.terminal import bad, doubtful, faint, good, heading, note, prose, say, shown


def write_opened(body: dict[str, Any]) -> None:
    """Write the run that was opened and what is to be done in it."""
    opened, procedure = body["run"], body["procedure"]
    flags = " ".join(
        (
            good("required") if procedure.get("required") else "",
            doubtful("held") if procedure.get("held") else "",
            doubtful("waiver") if procedure.get("waiver") else "",
            doubtful("deprecated") if procedure.get("deprecated") else "",
        )
    ).strip()
    say(
        heading(f"{shown(opened['name'])} {shown(opened['version'])} ({kind_of(opened['source'])})")
        + f" {flags}".rstrip()
    )
    say(prose(procedure.get("purpose")))
    for text in procedure.get("not_for") or ():
        say(faint(f"Not for: {prose(text)}"))
    _write_inputs(procedure)
    _write_states("Check before you begin", procedure.get("preconditions"))
    _write_steps(procedure.get("steps"))
    _write_instructions(procedure.get("instructions"))
    _write_stops(procedure.get("stop"))
    _write_states("Done when", procedure.get("verification"))
    _write_more(procedure)
    say()
    say(
        faint(f"Run {shown(body['run_id'])}, pinned to {shown(opened['digest'])} of snapshot {shown(body['snapshot'])}")
    )
    if not body["state"]["registered"]:
        note(f"{shown(opened['repository'])} is not registered, so this is central's copy.")


def _write_inputs(procedure: dict[str, Any]) -> None:
    inputs = procedure.get("inputs") or {}
    defaulted = set(procedure.get("defaulted") or ())
    if inputs:
        _section("Inputs")
        for name, value in sorted(inputs.items()):
            mark = faint(" (default)") if f"/{name}" in defaulted else ""
            say(f"  {shown(name)} = {json_of(value)}{mark}")
    for name in procedure.get("unset") or ():
        say(doubtful(f"  {shown(name)} was not given"))
    if inputs and not procedure.get("inputs_checked", True):
        say(faint("  The playbook has no schema: nothing checked these."))


def _write_states(title: str, items: Any) -> None:  # noqa: ANN401 - a list of the wire
    if items:
        _section(title)
        for item in items:
            say(f"  - {prose(item.get('state'))}")
            if check := item.get("check"):
                say(f"      {_call(check)}")


def _write_steps(steps: Any) -> None:  # noqa: ANN401 - a list of the wire
    if not steps:
        return
    _section("Steps")
    for number, step in enumerate(steps, start=1):
        say(f"  {number}. {shown(step.get('id'))}: {prose(step.get('instruction'))}")
        if step.get("tool") or step.get("with"):
            say(f"      {_call(step)}")
        if step.get("allowed_tools"):
            say(f"      with any of: {', '.join(shown(tool) for tool in step['allowed_tools'])}")
        if step.get("expect"):
            say(faint(f"      Expect: {prose(step['expect'])}"))


def _write_instructions(text: str | None) -> None:
    if text:
        _section("Instructions")
        for line in text.splitlines():
            say(f"  {shown(line) if line.strip() else ''}".rstrip())


def _write_stops(items: Any) -> None:  # noqa: ANN401 - a list of the wire
    if items:
        _section("Stop when")
        for item in items:
            say(f"  - {prose(item.get('when'))} {bad(shown(item.get('then')))}: {prose(item.get('question'))}")


def _write_more(procedure: dict[str, Any]) -> None:
    for title, value in (
        ("Only these tools", procedure.get("allowed_tools")),
        ("Needs", procedure.get("requires")),
        ("Governed run", procedure.get("runbook")),
    ):
        if value:
            _section(title)
            say(f"  {json_of(value)}")


def kind_of(source: dict[str, Any]) -> str:
    """Whose copy it is, and that nobody reviewed it where it stands in a working tree."""
    kind = shown(source.get("kind"))
    return doubtful(f"{kind}, unreviewed") if source.get("unreviewed") else kind


def json_of(value: object) -> str:
    """A value as one line of JSON."""
    return shown(json.dumps(value, ensure_ascii=False))


def _section(title: str) -> None:
    say()
    say(heading(title))


def _call(item: dict[str, Any]) -> str:
    """A tool with its arguments, as one reads a call."""
    arguments = ", ".join(f"{shown(key)}: {json_of(value)}" for key, value in (item.get("with") or {}).items())
    return f"{shown(item.get('tool'))}({arguments})"
