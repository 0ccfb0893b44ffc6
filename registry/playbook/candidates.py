"""Which files mean to be playbooks, and what can still be read in one that does not load.

`playbooks/` is also where Ansible keeps its own, so a native file is a candidate by its marker alone. Everything here
works on text that may be broken, so what it finds are readings of single lines, never of structure.
"""

import re
from collections.abc import Collection

from registry.names import name_key
from registry.playbook.front_matter import split_front_matter, without_code_blocks
from registry.playbook.json_text import outline
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.load import Syntax
from registry.playbook.spelling import distance
from registry.playbook.text import Fault

MARKER = "playbook"
MARKER_DISTANCE_MAX = 2

_MARKER_LINE = re.compile(rf"(?:\A|[\r\n]){MARKER}:")
_NAME_LINE = re.compile(r"(?:\A|[\r\n])name:[ \t]+([^\r\n]*)")
_REQUIRED_LINE = re.compile(
    r"(?:\A|[\r\n])required:[ \t]+(true|True|TRUE|false|False|FALSE)[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)"
)


def has_marker(text: str, syntax: Syntax, *, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether a file says that it is a native playbook: a line at column 0 that begins with `playbook:`.

    In JSON it is a root key; in Markdown the line stands in the front matter, or where there is none outside of
    code blocks, because a page about playbooks shows some.
    """
    if syntax is Syntax.JSON:
        return any(member.is_key and member.path == (MARKER,) for member in outline(text, limits=limits))
    return _MARKER_LINE.search(_speaking_part(text, syntax)) is not None


def claimed_key(text: str, syntax: Syntax, *, limits: Limits = DEFAULT_LIMITS) -> str | None:
    """The key of the name that a broken file still shows, or None."""
    if syntax is Syntax.JSON:
        shown = _json_member(text, "name", limits)
    else:
        found = _NAME_LINE.search(_speaking_part(text, syntax))
        shown = re.sub(r"(?:\A|\s)#.*", "", found[1]) if found else None
    return name_key(shown.strip().strip("\"'")) if shown else None


def claimed_required(text: str, syntax: Syntax, *, limits: Limits = DEFAULT_LIMITS) -> bool | None:
    """What a broken file still says of `required`, or None where it says nothing that can be read.

    Only a clear `false` is False: a broken file must not lose its protection by what made it unreadable.
    """
    if syntax is Syntax.JSON:
        shown = _json_member(text, "required", limits)
        return {"true": True, "false": False}.get(shown or "")
    found = _REQUIRED_LINE.search(_speaking_part(text, syntax))
    return found[1].lower() == "true" if found else None


def missed_marker(root_keys: Collection[str]) -> str | None:
    """A sentence where a file without the marker looks like a playbook all the same, else None."""
    for key in sorted(root_keys):
        if distance(key, MARKER, at_most=MARKER_DISTANCE_MAX) <= MARKER_DISTANCE_MAX:
            return f"the key {key} looks like the marker: a playbook begins with a line playbook: 1 at column 0."
    if {"name", "steps"} <= set(root_keys):
        return "name and steps without the marker: if this is a playbook, begin it with a line playbook: 1."
    return None


def _speaking_part(text: str, syntax: Syntax) -> str:
    if syntax is not Syntax.MARKDOWN:
        return text
    parts = split_front_matter(text)
    return without_code_blocks(text) if isinstance(parts, Fault) else parts.head


def _json_member(text: str, key: str, limits: Limits) -> str | None:
    return next(
        (member.source for member in outline(text, limits=limits) if not member.is_key and member.path == (key,)), None
    )
