"""Every problem code that reading and merging give, with its level and what it says in a few words.

Codes are stable; docs/problems.md has a section for each, and a test holds the two together.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from registry.playbook.model import Level, Problem


class Code(NamedTuple):
    """A code's level and its summary."""

    level: Level
    summary: str


_ERROR, _WARNING, _INFO = Level.ERROR, Level.WARNING, Level.INFO

PROBLEM_CODES: Mapping[str, Code] = MappingProxyType(
    {
        "encoding-invalid": Code(_ERROR, "the file is not UTF-8"),
        "control-character": Code(_ERROR, "an invisible character stands in the file"),
        "too-large": Code(_ERROR, "the file has more bytes or values than are read"),
        "lfs-pointer": Code(_ERROR, "the file is a Git LFS pointer, not the document"),
        "yaml-syntax": Code(_ERROR, "the file is not readable as one YAML document"),
        "json-syntax": Code(_ERROR, "the file is not readable as JSON"),
        "duplicate-key": Code(_ERROR, "a key stands twice in one mapping"),
        "alias-refused": Code(_ERROR, "YAML anchors and aliases are not allowed"),
        "tag-refused": Code(_ERROR, "YAML tags are not allowed"),
        "too-deep": Code(_ERROR, "values are nested too deep"),
        "number-out-of-range": Code(_ERROR, "a number that JSON cannot carry exactly"),
        "text-invalid": Code(_ERROR, "a text holds half a character"),
        "front-matter-missing": Code(_ERROR, "a Markdown playbook has no front matter"),
        "front-matter-unclosed": Code(_ERROR, "the front matter has no closing fence"),
        "front-matter-late": Code(_ERROR, "the front matter does not begin on line 1"),
        "field-missing": Code(_ERROR, "a required field is absent"),
        "field-type": Code(_ERROR, "a field holds a value of the wrong kind"),
        "unknown-key": Code(_ERROR, "a key that the format does not know"),
        "name-invalid": Code(_ERROR, "a name outside the pattern"),
        "schema-invalid": Code(_ERROR, "inputs is no usable JSON Schema"),
        "template-undeclared": Code(_ERROR, "a template names no declared input"),
        "tool-undeclared": Code(_ERROR, "a tool is named that nothing declares"),
        "secret-value": Code(_ERROR, "requires holds a value or an address instead of a name"),
        "duplicate-name": Code(_ERROR, "two good files under one root claim a name"),
        "publication-missing": Code(_ERROR, "a field that the publication rules ask for is absent"),
        "required-unmatched": Code(_ERROR, "a rule matches no central playbook"),
        "policy-missing": Code(_ERROR, "the policy file is gone; the last good rules stay"),
        "policy-invalid": Code(_ERROR, "the policy file does not load; the last good rules stay"),
        "shadows-required": Code(_ERROR, "a local copy has the name of a required playbook"),
        "required-not-yours": Code(_WARNING, "only central can say required"),
        "marker-missing": Code(_WARNING, "the file looks like a playbook without its marker"),
        "name-spelling": Code(_WARNING, "a name is written in another way than it is listed"),
        "name-not-folder": Code(_WARNING, "a skill and its folder have different names"),
        "description-long": Code(_WARNING, "the description is longer than agents read"),
        "type-mismatch": Code(_WARNING, "a value of another format is of the wrong kind; it is kept"),
        "no-purpose": Code(_WARNING, "nothing says what the playbook is for; its title or name stands in"),
        "read-tool-claims": Code(_WARNING, "a tool that only reads claims effects or asks for approval"),
        "tool-drift": Code(_WARNING, "one tool is defined in two ways"),
        "near-duplicate": Code(_WARNING, "one purpose under two names in one catalog"),
        "version-not-bumped": Code(_WARNING, "the content changed and the version did not"),
        "shadow-drift": Code(_WARNING, "the central copy has moved on since the local one was made from it"),
        "next-unknown": Code(_WARNING, "a step leads to one that is not there"),
        "version-not-text": Code(_WARNING, "the version is written as a number"),
        "no-stop": Code(_WARNING, "nothing says when to stop"),
        "no-verification": Code(_WARNING, "nothing says how success is seen"),
        "no-not-for": Code(_WARNING, "no near misses are named"),
        "no-inputs": Code(_WARNING, "no inputs are declared"),
        "no-preconditions": Code(_WARNING, "nothing says what must hold before the start"),
        "duplicate-root": Code(_WARNING, "one name under two roots; the first root serves"),
        "symlink-dangling": Code(_WARNING, "a link leads nowhere or out of the repository"),
        "sub-path-missing": Code(_WARNING, "the registered part of the repository is not there"),
        "skills-elsewhere": Code(_WARNING, "all skills stand outside the folders that are read"),
        "submodule": Code(_WARNING, "a submodule stands where playbooks are looked for"),
        "path-not-utf8": Code(_WARNING, "a path is not UTF-8"),
        "unrecognised": Code(_INFO, "a file that is no playbook does not parse"),
        "twin-identical": Code(_INFO, "two identical files are one playbook"),
        "deprecated": Code(_INFO, "the playbook says that it is deprecated"),
        "owner-not-in-codeowners": Code(_INFO, "CODEOWNERS names another owner for the file"),
        "mixed-line-endings": Code(_INFO, "lines end in two different ways"),
    }
)


def problem(code: str, path: str, at: tuple[int, int], message: str, *, name: str | None = None) -> Problem:
    """A problem of a known code at line and column `at`, with the code's own level."""
    return Problem(code, PROBLEM_CODES[code].level, path, at[0], at[1], message, name)
