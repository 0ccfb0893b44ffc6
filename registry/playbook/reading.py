"""Any file under a playbook root to a Reading, whatever its bytes (playbook-format.md, Candidates)."""

import codecs
import re
from dataclasses import dataclass
from typing import Final

from registry.digest import digest_of
from registry.names import name_key
from registry.playbook.candidates import MARKER, claimed_key, claimed_required, has_marker, missed_marker
from registry.playbook.front_matter import split_front_matter
from registry.playbook.json_text import load_json
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.load import Loaded, Syntax, load, syntax_of
from registry.playbook.model import Problem, Reading
from registry.playbook.native import Role, read_native
from registry.playbook.problems import problem
from registry.playbook.text import Fault, decode
from registry.playbook.yaml_text import root_keys_of

# Counts the changes of what is accepted or made of a file. What was read is kept by blob and this version, so that an
# upgrade reads again what an older loader refused.
LOADER_VERSION: Final = "playbook-loader/1"

_LFS_HEAD = b"version https://git-lfs.github.com/spec/"
_LFS_BYTES_MAX = 1024
_LONE_FEED = re.compile(r"(?<!\r)\n")
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_file(path: str, data: bytes, *, limits: Limits = DEFAULT_LIMITS, role: Role = "service") -> Reading:
    """What the file at `path` holds, for any bytes: a playbook, problems, or nothing that concerns the registry.

    `role` is that of the repository: only in central does `required` mean something.
    """
    file = _File(path, digest_of(data), role, limits)
    syntax = syntax_of(path)
    if syntax is None:
        return file.no_playbook()
    if data.startswith(_LFS_HEAD) and len(data) <= _LFS_BYTES_MAX:
        message = (
            "this is a Git LFS pointer, not the file: take the path out of .gitattributes and commit the text itself."
        )
        return file.broken(Fault("lfs-pointer", 1, 1, message), "", syntax)
    if len(data) > limits.file_bytes:
        message = (
            f"{len(data):,} bytes are more than the {limits.file_bytes:,} that are read: split or shorten the file."
        )
        return file.unread(Fault("too-large", 1, 1, message), data[: limits.file_bytes], syntax)
    text = decode(data)
    if isinstance(text, Fault):
        return file.unread(text, data, syntax)
    return _read_text(file, text, syntax)


def _read_text(file: "_File", text: str, syntax: Syntax) -> Reading:
    if syntax is Syntax.JSON:
        # Whether a key stands at the root is only known once the text is read.
        loaded = load(text, syntax, limits=file.limits)
        marked = MARKER in loaded.data if isinstance(loaded, Loaded) else has_marker(text, syntax, limits=file.limits)
        return _read_marked(file, text, syntax, loaded) if marked else _read_other(file, text, syntax)
    if not has_marker(text, syntax):
        return _read_other(file, text, syntax)
    return _read_marked(file, text, syntax, load(text, syntax, limits=file.limits))


def _read_marked(file: "_File", text: str, syntax: Syntax, loaded: Loaded | Fault) -> Reading:
    if isinstance(loaded, Fault):
        return file.broken(loaded, text, syntax)
    verdict = read_native(loaded, path=file.path, blob=file.blob, role=file.role, limits=file.limits)
    problems = verdict.problems
    if "\r\n" in text and _LONE_FEED.search(text):
        message = "some lines end with CR LF and some with LF: let the editor or .gitattributes settle on LF."
        problems = (*problems, problem("mixed-line-endings", file.path, (1, 1), message))
    if verdict.playbook is not None:
        return Reading(file.path, file.blob, verdict.playbook, problems, None, None, candidate=True)
    name, required = loaded.data.get("name"), loaded.data.get("required")
    return Reading(
        path=file.path,
        blob=file.blob,
        playbook=None,
        problems=problems,
        claims=name_key(name) if isinstance(name, str) else None,
        says_required=_said(loaded, required),
        candidate=True,
    )


def _said(loaded: Loaded, required: object) -> bool | None:
    if isinstance(required, bool):
        return required
    # Absent says no, unless a mistyped key or value may have meant yes.
    return None if any(key.casefold().startswith("requ") and key != "requires" for key in loaded.data) else False


def _read_other(file: "_File", text: str, syntax: Syntax) -> Reading:
    """A file without the marker: nothing, unless it looks like a playbook or cannot be read at all."""
    if syntax is Syntax.JSON:
        data = load_json(text, limits=file.limits)
        keys = None if isinstance(data, Fault) else frozenset(data) if isinstance(data, dict) else frozenset()
    elif syntax is Syntax.MARKDOWN:
        parts = split_front_matter(text)
        keys = frozenset() if isinstance(parts, Fault) else root_keys_of(parts.head)
    else:
        keys = root_keys_of(text)
    if keys is None:
        return file.no_playbook(
            problem("unrecognised", file.path, (1, 1), "no playbook, and not readable: left alone.")
        )
    missed = missed_marker(keys)
    return file.no_playbook(*([problem("marker-missing", file.path, (1, 1), missed)] if missed else []))


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    blob: str
    role: Role
    limits: Limits

    def no_playbook(self, *problems: Problem) -> Reading:
        return Reading(self.path, self.blob, None, problems, None, None, candidate=False)

    def broken(self, fault: Fault, text: str, syntax: Syntax) -> Reading:
        """A candidate that one fault stopped, with what is still readable in `text`."""
        name = claimed_key(text, syntax, limits=self.limits)
        found = problem(fault.code, self.path, (fault.line, fault.column), fault.message, name=name)
        required = claimed_required(text, syntax, limits=self.limits)
        return Reading(self.path, self.blob, None, (found,), name, required, candidate=True)

    def unread(self, fault: Fault, data: bytes, syntax: Syntax) -> Reading:
        """A file whose bytes were not taken as text: broken if it shows the marker all the same."""
        wide = next((name for mark, name in _WIDE_MARKS.items() if data.startswith(mark)), "utf-8-sig")
        text = data.decode(wide, errors="replace")
        if has_marker(text, syntax, limits=self.limits):
            return self.broken(fault, text, syntax)
        return self.no_playbook(
            problem("unrecognised", self.path, (1, 1), f"no playbook, and not read: {fault.message}")
        )
