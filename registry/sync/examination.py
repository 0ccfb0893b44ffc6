"""One look at one source: everything that is remarked on its playbooks beside their revision. Nothing is written here.

A failure of git never hurts: what was known of owners and histories stays, and the source is looked at again later.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final

import structlog

from policies.decision import Side
from policies.rules import RuleSet
from registry.catalog import merge as merging
from registry.catalog.attention import all_problems, attention_of
from registry.catalog.codeowners import owner_remarks
from registry.catalog.hygiene import catalog_remarks, subject_of, with_remarks
from registry.catalog.lineage import FileVersion, shadow_drift
from registry.catalog.merge import Verdict
from registry.catalog.revision import Head, Revision, read_revision
from registry.catalog.versions import FirstContent, first_contents, version_changes
from registry.digest import digest_of
from registry.errors import SourceFault, StoreFault
from registry.playbook.model import Problem
from registry.ports import ApiRules, Git, Registration, Remarks, Role, Store
from registry.sync.central import CentralSide, Tools, central_side, tools_of
from registry.sync.histories import read_histories, read_owners
from registry.sync.memory import KnownLineage, Memory, read_memory

REMARKS_VERSION: Final = "1"
"""Of the rules by which is remarked: another one has every source looked at again."""
REMARKS_MAX: Final = 2_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """The head that was read last."""

    ref: str
    commit: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What remarks on a source follow from, besides central: its registration, its head and what is in force of it."""

    registration: Registration
    head: Seen
    revision: str

    @property
    def repository(self) -> str:
        """The id of the source."""
        return self.registration.id

    @property
    def is_central(self) -> bool:
        """Whether it is the central repository."""
        return self.registration.role is Role.CENTRAL


@dataclass(frozen=True, slots=True)
class Task:
    """A source to be looked at, beside `side` (of central itself: as it was before) and the rules set by the API.

    `wanted` are the names whose histories central is to be asked for. `known` are the remarks before, where they are
    not in the store yet.
    """

    facts: Facts
    side: CentralSide | None
    api: ApiRules
    wanted: frozenset[str] = frozenset()
    known: Remarks | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The remarks on a source; `made_of` is empty where something was missing, so that it is looked at again.

    `missing` are the names whose histories in central are needed. `side` is central's new side, where it was looked at.
    """

    remarks: Remarks
    missing: frozenset[str] = frozenset()
    side: CentralSide | None = None


def made_of(facts: Facts, side: CentralSide, shadows: Collection[str]) -> str:
    """What the remarks on a service repository follow from: while it is the same, so are they."""
    parts = [REMARKS_VERSION, facts.head.commit, facts.revision, side.facet, side.rules_of(facts.repository)[1]]
    return digest_of(" ".join((*parts, *(side.digests.get(name, "-") for name in shadows))).encode())


def central_made_of(facts: Facts, api_rules: str) -> str:
    """The same of the central repository; `api_rules` is their digest."""
    return digest_of(f"{REMARKS_VERSION} {facts.head.commit} {facts.revision} {api_rules}".encode())


def api_digest(api: ApiRules) -> str:
    """The digest of the rules set by the API and of the day they are read for."""
    everything = RuleSet(marks=api.marks, waivers=api.waivers, withdrawals=api.withdrawals)
    return digest_of(merging.rules_bytes(everything) + api.rule_date.isoformat().encode())


def examine(task: Task, git: Git, store: Store) -> Outcome:
    """What is remarked on a source now. Raises StoreFault and Unavailable, and nothing that git fails by."""
    known = task.known or store.remarks([task.facts.repository]).get(task.facts.repository)
    look = _Look(task, git, store, known)
    return look.at_central() if task.facts.is_central else look.at_service()


class _Look:
    def __init__(self, task: Task, git: Git, store: Store, known: Remarks | None) -> None:
        self._facts = task.facts
        self._task = task
        self._git = git
        self._store = store
        self._before = known.problems if known is not None else ()
        self._memory = read_memory(known.memory if known is not None else None)
        self._revision = _load(store, task.facts.revision)
        self._heads = tuple(copy.head for copy in self._revision.copies if copy.head is not None)
        self._previous = self._load_previous()
        self._is_whole = True

    def at_service(self) -> Outcome:
        """The remarks on a service repository, in the catalog that it makes with central."""
        side = self._task.side
        if side is None:
            raise ValueError("a service repository is looked at beside central")
        scoped, _ = side.rules_of(self._facts.repository)
        catalog = merging.merge(side.part, self._revision, scoped, self._facts.repository)
        tools = self._tools()
        own = {verdict.name: verdict.serving for verdict in catalog.own.values() if verdict and _is_local(verdict)}
        hidden = {name for name, verdict in catalog.own.items() if verdict is None or verdict.serving is None}
        subjects = [subject_of(head, tools.get(head.digest, {})) for head in own.values() if head is not None]
        remarks = [*catalog_remarks(subjects, side.neighbours, hidden), *self._versions()]
        shadows = {
            verdict.name: verdict.serving
            for verdict in catalog.own.values()
            if verdict and _is_local(verdict) and verdict.serving and verdict.central and verdict.central.head
        }
        owners, histories = self._from_git({name: head.source.path for name, head in self._unread(shadows).items()})
        lineages = {name: self._lineage(name, head, histories) for name, head in shadows.items()}
        drifts, missing = self._drifts(shadows, lineages, side)
        problems = [*remarks, *owners, *drifts]
        read = {name: item for name, item in lineages.items() if item is not None}
        made = made_of(self._facts, side, sorted(shadows)) if self._is_whole and not missing else ""
        return Outcome(self._remarks(made, problems, side, tools, sorted(shadows), read), missing)

    def at_central(self) -> Outcome:
        """The remarks on central itself, and its new side."""
        before = self._task.side
        tools = self._tools(before.tools if before is not None else {})
        side = central_side(self._revision, self._task.api, tools, before.histories if before is not None else {})
        paths = {
            copy.name: copy.head.source.path
            for copy in self._revision.copies
            if copy.head is not None and copy.name in self._task.wanted and side.history(copy.name) is None
        }
        owners, histories = self._from_git(paths)
        read = {name: (side.digests[name], versions) for name, versions in histories.items()}
        side = replace(side, histories={**side.histories, **read})
        problems = [*catalog_remarks(side.subjects), *self._versions(), *owners]
        made = central_made_of(self._facts, api_digest(self._task.api)) if self._is_whole else ""
        return Outcome(self._remarks(made, problems, side, tools, (), {}), side=side)

    def _remarks(
        self,
        made: str,
        problems: Collection[Problem],
        side: CentralSide,
        tools: Tools,
        shadows: Collection[str],
        lineages: Mapping[str, KnownLineage],
    ) -> Remarks:
        kept = with_remarks((), problems)[:REMARKS_MAX]
        everything = all_problems(attention_of(self._revision), kept, side.everything.publication)
        now = {head.name: _content(head, self._revision.loader) for head in self._heads}
        memory = Memory(
            head=self._facts.head.commit if self._is_whole else None,
            revision=self._facts.revision,
            contents={name: item for name, item in self._first_contents().items() if now.get(name) != item},
            tools=tools,
            lineages=lineages,
        )
        tallies = Counter((item.code, item.level) for item, _ in everything)
        return Remarks(self._facts.repository, made, tuple(shadows), kept, memory.to_json(), tallies)

    def _load_previous(self) -> Revision | None:
        """The revision that was looked at before."""
        if self._memory.revision == self._facts.revision:
            return self._revision
        body = None if self._memory.revision is None else self._store.revision(self._memory.revision)
        return None if body is None else read_revision(body)

    def _tools(self, beside: Tools | None = None) -> Tools:
        """The tools of this revision's documents; read are those that neither `beside` nor the memory can have."""
        remembered = self._memory.tools
        known = {**(beside or {}), **(remembered or {})}
        is_seen = self._previous is not None and remembered is not None
        seen = {copy.digest for copy in self._previous.copies} if self._previous is not None and is_seen else set()
        wanted = {head.digest for head in self._heads}
        found = {**known, **tools_of(self._store, wanted - seen - known.keys())}
        return {digest: tools for digest, tools in found.items() if digest in wanted}

    def _versions(self) -> tuple[Problem, ...]:
        return version_changes(self._known_contents(), self._heads, self._revision.loader)

    def _first_contents(self) -> Mapping[str, FirstContent]:
        broken = [copy.name for copy in self._revision.copies if copy.head is None]
        return first_contents(self._known_contents(), self._heads, self._revision.loader, broken)

    def _known_contents(self) -> dict[str, FirstContent]:
        heads = [copy.head for copy in self._previous.copies if copy.head] if self._previous is not None else []
        loader = self._previous.loader if self._previous is not None else ""
        return {**{head.name: _content(head, loader) for head in heads}, **self._memory.contents}

    def _unread(self, shadows: Mapping[str, Head]) -> dict[str, Head]:
        lineages = self._memory.lineages
        return {
            name: head for name, head in shadows.items() if name not in lineages or lineages[name].digest != head.digest
        }

    def _from_git(self, paths: Mapping[str, str]) -> tuple[tuple[Problem, ...], Mapping[str, tuple[FileVersion, ...]]]:
        """The remarks on owners, and the histories of `paths`; as far as git gives them."""
        is_same = self._memory.head == self._facts.head.commit and self._memory.revision == self._facts.revision
        owners = tuple(item for item in self._before if item.code == "owner-not-in-codeowners")
        histories: Mapping[str, tuple[FileVersion, ...]] = {}
        if is_same and not paths:
            return owners, histories
        try:
            source = self._git.open(self._facts.registration)
            source.fetch(self._facts.head)
            with closing(source.read(self._facts.head.commit)) as tree:
                if not is_same:
                    owners = owner_remarks(read_owners(tree), self._heads)
                if paths:
                    histories = read_histories(tree, paths, self._facts.registration.role)
        except SourceFault as fault:
            self._is_whole = False
            log.info("not looked at", repository=self._facts.repository, reason=fault.detail)
        return owners, histories

    def _lineage(self, name: str, head: Head, histories: Mapping[str, tuple[FileVersion, ...]]) -> KnownLineage | None:
        known = self._memory.lineages.get(name)
        if name not in histories:
            return known
        versions = histories[name]
        sketch = next((item.sketch for item in versions if item.loads), ())
        read = KnownLineage(
            head.digest,
            tuple(item.whole for item in versions),
            tuple(item.file for item in versions),
            tuple(item.digest for item in versions if item.digest is not None),
            sketch,
        )
        return read.after(known)

    def _drifts(
        self, shadows: Mapping[str, Head], lineages: Mapping[str, KnownLineage | None], side: CentralSide
    ) -> tuple[list[Problem], frozenset[str]]:
        """The remarks on copies that central has left behind, and the names whose history in central is not known."""
        drifts, missing = [], set()
        for name, head in shadows.items():
            lineage, history = lineages[name], side.history(name)
            if lineage is not None and history is not None:
                found = shadow_drift(head, lineage.lineage(), history)
            else:
                found = next((item for item in self._before if (item.code, item.name) == ("shadow-drift", name)), None)
            if history is None:
                missing.add(name)
            if found is not None:
                drifts.append(found)
        return drifts, frozenset(missing)


def _is_local(verdict: Verdict) -> bool:
    return verdict.decision.serves is Side.LOCAL


def _content(head: Head, loader: str) -> FirstContent:
    return FirstContent(head.version, head.digest, head.source.blob, loader)


def _load(store: Store, digest: str) -> Revision:
    body = store.revision(digest)
    if body is None:
        raise StoreFault(f"revision {digest} is named by a pointer and not in the store: restore the database.")
    return read_revision(body)
