"""Real histories, and what a registry that sees each of their commits should hold, by the pages on the merge."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitserver import GitRepo
from realrepos import Blobs, Tree, tree_of
from skillrules import Copy, Side, Skill, read_skill, side_of

LOOKED_BACK_MAX = 100
"""Commits in which a file that broke is looked for."""
REMOVED_MIN = 10
"""Fewer playbooks than these go without asking."""

GLOBS = {
    "anthropics/skills": ("skills/**/SKILL.md", "*/SKILL.md"),
    "dandye/ai-runbooks": ("skills/**/SKILL.md", ".claude/skills/**/SKILL.md", ".gemini/skills/**/SKILL.md"),
    "expo/skills": ("plugins/*/skills/**/SKILL.md", "*/SKILL.md", ".claude/skills/**/SKILL.md"),
    "getsentry/sentry-javascript": (".agents/skills/**/SKILL.md", ".claude/skills/**/SKILL.md"),
    "getsentry/skills": (
        "skills/**/SKILL.md",
        "plugins/*/skills/**/SKILL.md",
        "*/SKILL.md",
        ".agents/skills/**/SKILL.md",
    ),
    "github/awesome-copilot": ("skills/**/SKILL.md",),
    "google-gemini/gemini-cli": (".gemini/skills/**/SKILL.md",),
    "langfuse/langfuse": (".agents/skills/**/SKILL.md", "web/.agents/skills/**/SKILL.md", ".claude/skills/**/SKILL.md"),
    "microsoft/apm": (".agents/skills/**/SKILL.md", ".apm/skills/**/SKILL.md", "packages/**/SKILL.md"),
    "obra/superpowers": ("skills/**/SKILL.md",),
    "openai/openai-agents-python": (".agents/skills/**/SKILL.md", ".codex/skills/**/SKILL.md"),
    "openshift/runbooks": ("alerts/**/*.md",),
    "prometheus-operator/runbooks": ("content/**/*.md",),
    "wshobson/agents": ("plugins/*/skills/**/SKILL.md",),
}
"""Where each keeps its playbooks over time. The two of alerts have pages that are none."""


class History:
    """One bundle as a repository whose branch is moved commit by commit along its first parents."""

    def __init__(self, bundles: Path, name: str, place: Path) -> None:
        self.name = name
        self.repo = GitRepo(place)
        bundle = bundles / f"{name.replace('/', '__')}.bundle"
        self.repo.git("fetch", "--quiet", str(bundle), "+refs/heads/*:refs/kept/*")
        self.commits = self.repo.git("rev-list", "--first-parent", "--reverse", "--glob=refs/kept").split()
        self.blobs = Blobs(self.repo)
        self.trees = [tree_of(self.repo, self.blobs, commit) for commit in self.commits]
        self.sides = [side_of(tree, GLOBS[name]) for tree in self.trees]
        # The rest of the history is nobody's to see: a remote shows its branch alone.
        self.repo.git("config", "transfer.hideRefs", "refs/kept")

    def push(self, number: int) -> str:
        """Move the branch to the commit of that number, forwards or backwards; its id."""
        self.repo.git("update-ref", "refs/heads/main", self.commits[number])
        return self.commits[number]

    def has(self, path: str, commit: str) -> bool:
        """Whether there is a file at a path in a commit."""
        return path in self.trees[self.commits.index(commit)].paths

    def last_good(self, path: str, number: int) -> tuple[Skill, str] | None:
        """What stood at a path, and when, before it broke; None where it was deleted in between, or for too long ago."""
        for earlier in range(number - 1, max(-1, number - 1 - LOOKED_BACK_MAX), -1):
            own = self.trees[earlier].paths.get(path)
            if own is None:
                return None
            skill = _read(self.trees[earlier], path, own)
            if not skill.error:
                return skill, self.commits[earlier]
        return None


def _read(tree: Tree, path: str, own: str) -> Skill:
    blob_id = tree.files[own]
    return read_skill(path, blob_id, tree.blobs[blob_id])


@dataclass
class State:
    """What a registry has in force of a history: copies by name, and for each the path that it stands for."""

    copies: dict[str, Copy] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)

    @property
    def serving(self) -> set[str]:
        """The names that can serve."""
        return {name for name, copy in self.copies.items() if copy.serves}

    @property
    def held(self) -> dict[str, str | None]:
        """Name -> commit of each copy that stands in for a file that does not load."""
        return {name: copy.held_at for name, copy in self.copies.items() if copy.state == "held"}

    def side(self, number: int, history: History) -> Side:
        """The same as what the merge looks at."""
        return replace(history.sides[number], copies=self.copies)


def is_held_back(before: State, after: State) -> bool:
    """Whether a change waits for somebody: more than half of the playbooks go, and at least ten."""
    removed = before.serving - after.serving
    return len(removed) >= REMOVED_MIN and 2 * len(removed) > len(before.serving)


def state_after(history: History, number: int, before: State) -> State:
    """What is in force after a commit, where `before` was."""
    side = history.sides[number]
    after = State()
    for name, copy in side.copies.items():
        if copy.state != "broken":
            after.copies[name], after.paths[name] = copy, copy.skill.path
    for path in sorted(side.broken, key=lambda path: (side.places[path], path)):
        found = _stand_in(history, number, side.skills[path], before)
        if found is None:
            continue
        name, copy = found
        rival = after.copies.get(name)
        if rival is None or (rival.state == "broken" and copy.state == "held"):
            after.copies[name], after.paths[name] = copy, path
    return after


def _stand_in(history: History, number: int, broken: Skill, before: State) -> tuple[str, Copy] | None:
    """The name that a broken file claims and what stands in for it.

    What stood in before and is older than the look back would go on standing in; no history here is as long as that.
    """
    earlier = history.last_good(broken.path, number)
    if earlier is not None:
        skill, commit = earlier
        return str(skill.name), Copy("held", skill, held_at=commit)
    known = next((name for name, path in before.paths.items() if path == broken.path), broken.name)
    return None if known is None else (known, Copy("broken", broken))


def timeline(bundles: Path) -> Mapping[str, dict]:
    """TIMELINE.json."""
    return json.loads((bundles / "TIMELINE.json").read_text())
