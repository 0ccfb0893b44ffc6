"""Any file under a playbook root to a Reading, whatever its bytes (playbook-format.md, Candidates)."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from registry.digest import digest_of
from registry.playbook.candidates import Speech, missed_marker
from registry.playbook.companions import Companion
from registry.playbook.forms import Form, Shown, form_of, form_of_members, loaded_key, shown_in
from registry.playbook.front_matter import split_front_matter
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.load import Loaded, Syntax, load, syntax_of
from registry.playbook.model import Problem, Reading
from registry.playbook.native import Role, Verdict, read_native
from registry.playbook.openplaybook import read_openplaybook
from registry.playbook.problems import problem
from registry.playbook.runbook import RUNBOOK_MARKS, read_runbook
from registry.playbook.skill import read_skill
from registry.playbook.text import Fault, decode
from registry.playbook.yaml_text import root_keys_of

# Counts the changes of what is accepted or made of a file. What was read is kept by blob and this version, so that an
# upgrade reads again what an older loader refused, and keeps the original bytes that an older one did not keep.
LOADER_VERSION: Final = "playbook-loader/4"

# Where a format keeps more of what stands at a native document's root.
_HEADS = {Form.SKILL: "metadata", Form.OPENPLAYBOOK: "manifest"}
_LFS_HEAD = b"version https://git-lfs.github.com/spec/"
_LFS_BYTES_MAX = 1024
_LONE_FEED = re.compile(r"(?<!\r)\n")
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read_file(
    path: str,
    data: bytes,
    *,
    limits: Limits = DEFAULT_LIMITS,
    role: Role = "service",
    companions: Sequence[Companion] = (),
) -> Reading:
    """What the file at `path` holds, for any bytes: a playbook, problems, or nothing that concerns the registry.

    `role` is that of the repository: only in central does `required` mean something. `companions` are the other files
    of a skill's folder, which are part of its digest; other formats have none.
    """
    file = _File(path, digest_of(data), role, limits, form_of(path), companions)
    syntax = syntax_of(path)
    if syntax is None:
        return file.no_playbook()
    if data.startswith(_LFS_HEAD) and len(data) <= _LFS_BYTES_MAX:
        message = (
            "this is a Git LFS pointer, not the file: take the path out of .gitattributes and commit the text itself."
        )
        return file.broken(Fault("lfs-pointer", 1, 1, message), Shown(file.form, None, None))
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
    # What a JSON file is shows once it is read; a skill is read in any case; for others, the marker line decides.
    if syntax is not Syntax.JSON and file.form is Form.NATIVE and not Speech(text, syntax).has_marker():
        return _read_other(file, text, syntax)
    loaded = load(text, syntax, limits=file.limits)
    if isinstance(loaded, Fault):
        shown = shown_in(file.form, file.path, text, syntax)
        if shown is not None:
            return file.broken(loaded, shown)
        # Only JSON comes here. What can be read and is no object has no keys.
        return _read_keys(file, frozenset() if loaded.code == "field-type" else None)
    form = form_of_members(file.form, loaded.data) if syntax is Syntax.JSON else file.form
    return _read_loaded(file, form, loaded) if form else _read_keys(file, frozenset(loaded.data))


def _read_loaded(file: "_File", form: Form, loaded: Loaded) -> Reading:
    verdict = _verdict(file, form, loaded)
    problems = verdict.problems
    is_mixed = "\r" in loaded.text and "\r\n" in loaded.text and _LONE_FEED.search(loaded.text)
    if is_mixed and len(problems) < file.limits.problems_per_file:
        message = "some lines end with CR LF and some with LF: let the editor or .gitattributes settle on LF."
        problems = (*problems, problem("mixed-line-endings", file.path, (1, 1), message))
    if verdict.playbook is not None:
        return Reading(file.path, file.blob, verdict.playbook, problems, None, None, candidate=True)
    return Reading(
        path=file.path,
        blob=file.blob,
        playbook=None,
        problems=problems,
        claims=loaded_key(form, file.path, loaded.data),
        says_required=_said(loaded, loaded.data.get("required")),
        candidate=True,
        tags=_tags(form, loaded),
    )


def _verdict(file: "_File", form: Form, loaded: Loaded) -> Verdict:
    path, blob, role, limits = file.path, file.blob, file.role, file.limits
    if form is Form.SKILL:
        return read_skill(loaded, path=path, blob=blob, role=role, limits=limits, companions=file.companions)
    read = {Form.NATIVE: read_native, Form.RUNBOOK: read_runbook, Form.OPENPLAYBOOK: read_openplaybook}[form]
    return read(loaded, path=path, blob=blob, role=role, limits=limits)


def _said(loaded: Loaded, required: object) -> bool | None:
    if isinstance(required, bool):
        return required
    # Absent says no, unless a mistyped key or value may have meant yes.
    return None if any(key[:4].casefold() == "requ" and key != "requires" for key in loaded.data) else False


def _tags(form: Form, loaded: Loaded) -> tuple[str, ...] | None:
    """The tags of a document that did not load; None where something may be one that cannot be read."""
    inner = loaded.data.get(_HEADS[form]) if form in _HEADS else None
    keys = [*loaded.data, *(inner if isinstance(inner, dict) else ())]
    tags = loaded.data.get("tags", [])
    if sum(key[:3].casefold() == "tag" for key in keys) > ("tags" in loaded.data) or not isinstance(tags, list):
        return None
    words = tuple(tag for tag in tags if isinstance(tag, str))
    return words if len(words) == len(tags) else None


def _read_other(file: "_File", text: str, syntax: Syntax) -> Reading:
    """A file of YAML or Markdown without the marker."""
    if syntax is Syntax.MARKDOWN:
        parts = split_front_matter(text)
        return _read_keys(file, frozenset() if isinstance(parts, Fault) else root_keys_of(parts.head))
    return _read_keys(file, root_keys_of(text))


def _read_keys(file: "_File", keys: frozenset[str] | None) -> Reading:
    """A file that is no playbook: nothing, unless its root's keys look like one, or it has none that can be read."""
    if keys is None:
        return file.no_playbook(
            problem("unrecognised", file.path, (1, 1), "no playbook, and not readable: left alone.")
        )
    if file.form is Form.RUNBOOK:
        missed: str | None = f"no runbook.v1: it has none of {', '.join(sorted(RUNBOOK_MARKS))} at its root."
    else:
        missed = missed_marker(keys)
    return file.no_playbook(*([problem("marker-missing", file.path, (1, 1), missed)] if missed else []))


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    blob: str
    role: Role
    limits: Limits
    form: Form
    companions: Sequence[Companion]

    def no_playbook(self, *problems: Problem) -> Reading:
        return Reading(self.path, self.blob, None, problems, None, None, candidate=False)

    def broken(self, fault: Fault, shown: Shown) -> Reading:
        """A candidate that one fault stopped, with what it still shows."""
        found = problem(fault.code, self.path, (fault.line, fault.column), fault.message, name=shown.key)
        return Reading(self.path, self.blob, None, (found,), shown.key, shown.required, candidate=True)

    def unread(self, fault: Fault, data: bytes, syntax: Syntax) -> Reading:
        """A file whose bytes were not taken as text: broken if it shows the marker all the same."""
        wide = next((name for mark, name in _WIDE_MARKS.items() if data.startswith(mark)), "utf-8-sig")
        text = data.decode(wide, errors="replace")
        shown = shown_in(self.form, self.path, text, syntax)
        if shown is not None:
            return self.broken(fault, shown)
        return self.no_playbook(
            problem("unrecognised", self.path, (1, 1), f"no playbook, and not read: {fault.message}")
        )
