"""What stands in a tree by rules that are written here alone.

They are those of the pages on formats and on the merge, said a second time with none of the project's code: what is
looked for, what loads, which copy of a repository counts, and who serves.
"""

import hashlib
import posixpath
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property

import yaml
from realrepos import Tree, is_closed, is_skill

USUAL = (
    "playbooks/**/*.{yaml,yml,json,md}",
    ".playbooks/**/*.{yaml,yml,json,md}",
    ".agents/skills/**/SKILL.md",
    ".claude/skills/**/SKILL.md",
    ".github/skills/**/SKILL.md",
    ".cursor/skills/**/SKILL.md",
    "skills/**/SKILL.md",
)
DESCRIPTION_CHARS_MAX = 1024

_FENCED = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$(.*)", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\ufeff]")


@dataclass(frozen=True)
class Skill:
    """What a SKILL.md is: `error` says why it does not load; `name` is the key that it has or still shows."""

    path: str
    blob_id: str
    digest: str
    name: str | None
    error: str = ""
    written: str | None = None
    description: str = ""

    @property
    def folder(self) -> str | None:
        """The key of its folder's name."""
        return key_of(posixpath.basename(posixpath.dirname(self.path)))

    @property
    def version(self) -> str:
        """The version of one that writes none."""
        return f"0.0.0+{self.digest.removeprefix('sha256:')[:12]}"


@dataclass
class Copy:
    """What a repository has under one name: `good`, `held`, `broken` or `ambiguous`.

    `twins` say the same as `skill`, `rivals` are the ambiguous ones, `behind` stand in later roots and say another thing.
    """

    state: str
    skill: Skill
    twins: tuple[Skill, ...] = ()
    rivals: tuple[Skill, ...] = ()
    behind: tuple[Skill, ...] = ()
    held_at: str | None = None

    @property
    def serves(self) -> bool:
        """Whether it can serve."""
        return self.state in {"good", "held"}


@dataclass
class Side:
    """A repository at one commit: its copies by name, every skill that is read there, and each path's root."""

    copies: dict[str, Copy]
    skills: dict[str, Skill]
    places: dict[str, int]

    @cached_property
    def broken(self) -> set[str]:
        """The paths of the files that do not load."""
        return {skill.path for skill in self.skills.values() if skill.error}

    def serving(self) -> int:
        """How many copies can serve."""
        return sum(copy.serves for copy in self.copies.values())

    def remarks(self) -> dict[str, set[str]]:
        """Code -> the paths of which it must be said, for the codes that these rules know."""
        good = [skill for skill in self.skills.values() if not skill.error]
        copies = self.copies.values()
        return {
            "duplicate-name": {skill.path for copy in copies for skill in copy.rivals},
            "duplicate-root": {skill.path for copy in copies for skill in copy.behind},
            "twin-identical": {skill.path for copy in copies for skill in copy.twins},
            "name-not-folder": {skill.path for skill in good if not skill.written or skill.name != skill.folder},
            "name-spelling": {skill.path for skill in good if skill.written and skill.written != skill.name},
            "description-long": {skill.path for skill in good if len(skill.description) > DESCRIPTION_CHARS_MAX},
        }


def side_of(tree: Tree, globs: Iterable[str] = USUAL) -> Side:
    """What is read of a tree below these globs, and the copy that counts under each name."""
    roots = [_matcher(glob) for glob in globs]
    places: dict[str, tuple[int, str]] = {}
    for path, own in tree.paths.items():
        place = next((nth for nth, fits in enumerate(roots) if fits(path)), None)
        if place is None or not is_skill(path):
            continue
        shown = own if any(fits(own) for fits in roots) else path
        known = places.get(own)
        places[own] = min((place, shown), known) if known else (place, shown)
    read = {
        shown: (place, read_skill(shown, tree.files[own], tree.blobs[tree.files[own]]))
        for own, (place, shown) in places.items()
    }
    skills = {path: skill for path, (_, skill) in read.items()}
    return Side(_copies(tree, read.values()), skills, {path: place for path, (place, _) in read.items()})


def _copies(tree: Tree, read: Iterable[tuple[int, Skill]]) -> dict[str, Copy]:
    """One copy a name: a good file beats broken ones, an earlier root beats later ones, two good ones are ambiguous."""
    named: dict[str, list[tuple[int, str, Skill]]] = defaultdict(list)
    for place, skill in read:
        if skill.name is not None:
            named[skill.name].append((place, skill.path, skill))
    found = {}
    for name, ranked in named.items():
        good = [(place, skill) for place, _, skill in sorted(ranked, key=lambda row: row[:2]) if not skill.error]
        if not good:
            found[name] = Copy("broken", min(ranked, key=lambda row: row[:2])[2])
            continue
        inside = [skill for place, skill in good if place == good[0][0]]
        others = [skill for place, skill in good if place != good[0][0]]
        contents = {(skill.digest, *tree.beside(skill.path)) for skill in inside}
        same = tuple(skill for skill in others if _says_the_same(tree, skill, inside[0]))
        behind = tuple(skill for skill in others if skill not in same)
        if len(contents) > 1:
            found[name] = Copy("ambiguous", inside[0], same, tuple(inside), behind)
        else:
            found[name] = Copy("good", inside[0], (*inside[1:], *same), behind=behind)
    return found


def _says_the_same(tree: Tree, one: Skill, other: Skill) -> bool:
    return (one.digest, tree.beside(one.path)) == (other.digest, tree.beside(other.path))


@cache
def read_skill(path: str, blob_id: str, data: bytes) -> Skill:
    """A SKILL.md as the page on formats reads it, by another YAML reader than the project's."""
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    shown = _shown_name(text)

    def broken(why: str) -> Skill:
        return Skill(path, blob_id, digest, shown, why)

    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return broken("not UTF-8")
    if _INVISIBLE.search(text):
        return broken("an invisible character")
    fenced = _FENCED.match(text)
    if fenced is None:
        return broken("no front matter on line 1")
    try:
        fields = yaml.load(fenced[1], Loader=_Strict)
    except yaml.YAMLError as error:
        return broken(str(error))
    if not isinstance(fields, dict):
        return broken("no mapping")
    described = fields.get("description")
    if not isinstance(described, str) or not described.strip():
        return broken("no description")
    written = fields.get("name")
    name = (
        key_of(written)
        if isinstance(written, str) and written.strip()
        else key_of(posixpath.basename(posixpath.dirname(path)))
    )
    if name is None:
        return broken("no name")
    return Skill(path, blob_id, digest, name, "", written if isinstance(written, str) else None, described)


def key_of(written: str) -> str | None:
    """The key of a name, or None for what is none."""
    folded = re.sub(r"[_ .]+", "-", unicodedata.normalize("NFKC", written.strip()).casefold())
    return folded if _NAME.fullmatch(folded) and len(folded) <= 64 else None


def _shown_name(text: str) -> str | None:
    head = _FENCED.match(text)
    found = re.search(r"^name:[ \t]+(.*?)[ \t\r]*$", head[1] if head else _outside_code(text), re.MULTILINE)
    return key_of(found[1].strip("\"'")) if found else None


def _outside_code(text: str) -> str:
    return re.sub(r"^```.*?(?:^```|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)


class _Strict(yaml.BaseLoader):
    """Texts, lists and mappings; no key twice, no anchors, no tags."""

    def compose_node(self, parent: object, index: object) -> object:
        event = self.peek_event()
        if getattr(event, "anchor", None) or isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("an anchor or an alias")
        if getattr(event, "tag", None):
            raise yaml.YAMLError("a tag")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, **_: bool) -> dict:
        keys = [key.value for key, _ in node.value]
        if len(set(map(str, keys))) < len(keys):
            raise yaml.YAMLError("a key twice")
        return super().construct_mapping(node, deep=True)


@cache
def _matcher(glob: str) -> Callable[[str], bool]:
    """Whether a path fits a glob: `**` stands for folders that begin with no dot, `*` for no leading dot."""
    parts = []
    for segment in glob.split("/"):
        if segment == "**":
            parts.append(r"(?:[^/.][^/]*/)*")
        else:
            plain = re.escape(segment).replace(r"\*", "[^/]*").replace(r"\{", "(?:").replace(r"\}", ")")
            guard = "" if segment.startswith(".") else r"(?!\.)"
            parts.append(guard + plain.replace(",", "|") + "/")
    fits = re.compile("".join(parts).removesuffix("/"), re.IGNORECASE if glob.endswith("SKILL.md") else 0)
    return lambda path: (
        fits.fullmatch(path) is not None and not any(is_closed(folder) for folder in path.split("/")[:-1])
    )


@dataclass(frozen=True)
class Verdict:
    """Who serves a name in one catalog: `by` is `central`, `local` or None."""

    by: str | None
    outcome: str
    skill: Skill | None = None


def verdicts(
    central: Side, local: Side | None, required: Iterable[str] = (), waived: Iterable[str] = ()
) -> dict[str, Verdict]:
    """Each name's verdict by the table of the merge, for one repository (None: nobody's)."""
    names = central.copies.keys() | (local.copies.keys() if local else set())
    return {
        name: _verdict(
            central.copies.get(name),
            local.copies.get(name) if local else None,
            "waived" if name in set(waived) else "yes" if name in set(required) else "no",
        )
        for name in names
    }


def _verdict(shared: Copy | None, own: Copy | None, required: str) -> Verdict:
    shared_serves, own_serves = shared is not None and shared.serves, own is not None and own.serves
    if own_serves and required == "waived":
        return Verdict("local", "waiver", own.skill)
    if own_serves and required == "no":
        outcome = "local_only" if shared is None else "local_wins" if shared_serves else "central_broken"
        return Verdict("local", outcome, own.skill)
    if shared_serves:
        outcome = "central_only" if own is None else "required_holds" if own_serves else "local_broken"
        return Verdict("central", outcome, shared.skill)
    if required == "yes":
        return Verdict(None, "required_missing" if shared is None else "required_broken" if own_serves else "broken")
    return Verdict(None, "broken")
