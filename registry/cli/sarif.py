"""A check as SARIF 2.1.0, with what code scanning at GitHub requires of it."""

from importlib.metadata import version
from typing import Final
from urllib.parse import quote

from registry.digest import Json
from registry.playbook.model import Level, Problem
from registry.playbook.problems import PROBLEM_CODES
from registry.service.checking import Finding, Report, fingerprint

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RESULTS_MAX: Final = 5_000
"""As many as GitHub keeps of one run; errors go first."""
PAGE: Final = "docs/problems.md"

_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "note"}
_ORDER: Final = {Level.ERROR: 0, Level.WARNING: 1, Level.INFO: 2}


def sarif(report: Report, *, prefix: str = "", registry: str | None = None) -> dict[str, Json]:
    """The log with one run.

    `prefix` is the checked folder, relative to the repository's root; `registry` the URL of the registry that was
    asked, whose pages about problems the rules then lead to.
    """
    findings = sorted(report.findings, key=lambda item: _ORDER[item.problem.level])[:RESULTS_MAX]
    codes = sorted({item.problem.code for item in findings})
    places = {code: place for place, code in enumerate(codes)}
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "registry check",
                "version": version("playbook-registry"),
                "rules": [_rule(code, registry) for code in codes],
            }
        },
        "automationDetails": {"id": f"registry-check/{prefix}"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, places[item.problem.code], prefix) for item in findings],
        "properties": {"effect": report.effect, "selection": report.selection},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str, registry: str | None) -> Json:
    known = PROBLEM_CODES.get(code)
    summary = known.summary if known is not None else code
    said = f"{summary[:1].upper()}{summary[1:]}."
    more = "of the playbook registry shows an example and says what to do, under"
    rule: dict[str, Json] = {
        "id": code,
        "name": "".join(part.title() for part in code.split("-")),
        "shortDescription": {"text": said},
        "fullDescription": {"text": said},
        "help": {
            "text": f"{said} {PAGE} {more} {code}.",
            "markdown": f"{said} `{PAGE}` {more} `{code}`.",
        },
        "properties": {"tags": ["playbooks"]},
    }
    if known is not None:
        rule["defaultConfiguration"] = {"level": _LEVELS[known.level]}
    if registry is not None:
        # An absolute address or none: a relative one makes the whole log invalid.
        rule["helpUri"] = f"{registry.rstrip('/')}/problems/{code}"
    return rule


def _result(finding: Finding, rule: int, prefix: str) -> Json:
    problem = finding.problem
    result: dict[str, Json] = {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": _LEVELS[problem.level],
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": _location(problem, prefix)}],
        "partialFingerprints": {"problem/v1": fingerprint(problem)},
    }
    if finding.is_new is not None:
        result["baselineState"] = "new" if finding.is_new else "unchanged"
    return result


def _location(problem: Problem, prefix: str) -> Json:
    path = f"{prefix.strip('/')}/{problem.path}" if prefix.strip("/") else problem.path
    return {
        "artifactLocation": {"uri": quote(path, errors="replace"), "uriBaseId": "%SRCROOT%"},
        "region": {
            "startLine": problem.line,
            "startColumn": problem.column,
            "endLine": problem.line,
            "endColumn": problem.column + 1,
        },
    }
