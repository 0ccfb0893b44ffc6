"""Skills: what a catalog offers as Agent Skills, and the bytes of their files.

Everything follows from the catalog in force and from bytes that are kept by their digests, so that a list and what is
read of it cannot disagree. A skill that has not all its bytes in the store is not offered.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from policies.decision import Side
from registry.catalog.merge import Verdict
from registry.catalog.revision import Head, head_json
from registry.digest import Json, digest_of
from registry.errors import StoreFault
from registry.playbook.export.package import NotOffered, SkillPackage, companions_of, package_of, skill_file_of
from registry.playbook.skill import SKILL_DOCUMENT, SKILL_FILE
from registry.ports import Store
from registry.service.cache import ByteCache, EntryCache
from registry.service.catalogs import Catalogs
from registry.service.inforce import Key

PACKAGES_BYTES_MAX: Final = 32 << 20
"""Of what is kept about skills; one that fell out is rendered or read again."""
PAGE_NAMES_MAX: Final = 100
PAGE_BYTES_MAX: Final = 1 << 20
NOT_OFFERED_BYTES: Final = 500
LISTED_MAX: Final = 8
"""Catalogs whose verdicts are kept in their order: those that somebody pages through now."""
TOLD_MAX: Final = 10_000
"""Skills of which it was logged that they are not offered; one that fell out is logged again."""

Made = tuple[str, ...]
"""What a package is made of: as long as it is the same, so is the package."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OfferedSkill:
    """A copy that serves, or that another one goes before, as a skill."""

    side: Side
    head: Head
    verdict: Verdict
    package: SkillPackage

    @property
    def is_effective(self) -> bool:
        """Whether this is the copy that serves."""
        return self.verdict.decision.serves is self.side


@dataclass(frozen=True, slots=True)
class RefusedCopy:
    """A copy that a required playbook keeps out: it can be named, and not read."""

    side: Side
    head: Head


@dataclass(frozen=True, slots=True)
class SkillPage:
    """Some of a catalog's skills by name, the one that serves first. `next_after` is None on the last page."""

    snapshot: str
    skills: tuple[OfferedSkill, ...]
    refused: tuple[RefusedCopy, ...]
    next_after: str | None


@dataclass(frozen=True, slots=True)
class EffectiveSkills:
    """The skills that serve, by name. `is_complete` says that none is left out for bytes that may yet come."""

    snapshot: str
    skills: tuple[OfferedSkill, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Offered:
    """Name -> its skills, the one that serves first, for those of the names asked about that have some."""

    skills: dict[str, list[OfferedSkill]]
    is_complete: bool


class Skills:
    """Offers playbooks as skills. Thread-safe."""

    def __init__(self, catalogs: Catalogs, store: Store) -> None:
        self._catalogs = catalogs
        self._store = store
        self._packages: ByteCache[Made, SkillPackage | NotOffered] = ByteCache(PACKAGES_BYTES_MAX)
        self._verdicts: EntryCache[Key, tuple[Verdict, ...]] = EntryCache(LISTED_MAX)
        self._told: EntryCache[Made, str] = EntryCache(TOLD_MAX)

    def page(self, repository: str | None, *, after: str | None = None) -> SkillPage:
        """The skills whose names come after `after`, as many as fit on a page. Raises as `Catalogs.catalog_of` does."""
        key, verdicts = self._verdicts_of(repository)
        begin = 0 if after is None else bisect_right(verdicts, after, key=lambda verdict: verdict.name)
        chosen = verdicts[begin : begin + PAGE_NAMES_MAX]
        offered = self._offered(chosen).skills
        skills: list[OfferedSkill] = []
        refused: list[RefusedCopy] = []
        left_bytes = PAGE_BYTES_MAX
        taken = 0
        for verdict in chosen:
            found = offered.get(verdict.name, [])
            left_bytes -= sum(skill.package.size_bytes for skill in found)
            if left_bytes < 0 and taken:
                break
            taken += 1
            skills += found
            refused += refused_copies(verdict)
        last = begin + taken
        next_after = verdicts[last - 1].name if last < len(verdicts) else None
        return SkillPage(self._catalogs.digest_of(key), tuple(skills), tuple(refused), next_after)

    def find(self, repository: str | None, side: Side, name: str) -> OfferedSkill | None:
        """The skill of a name on one side of a catalog, or None where it is not offered now."""
        _, catalog = self._catalogs.catalog_of(repository)
        verdict = catalog.verdict(name)
        found = [] if verdict is None else self._offered([verdict]).skills.get(name, [])
        return next((skill for skill in found if skill.side is side), None)

    def effective(self, repository: str | None) -> EffectiveSkills:
        """Every skill that serves. Takes seconds where thousands of them are new."""
        key, verdicts = self._verdicts_of(repository)
        serving = [verdict for verdict in verdicts if verdict.serving is not None]
        found: list[OfferedSkill] = []
        is_complete = True
        for begin in range(0, len(serving), PAGE_NAMES_MAX):
            offered = self._offered(serving[begin : begin + PAGE_NAMES_MAX], effective_only=True)
            is_complete = is_complete and offered.is_complete
            found += [skill for skills in offered.skills.values() for skill in skills]
        return EffectiveSkills(self._catalogs.digest_of(key), tuple(found), is_complete)

    def read(self, skill: OfferedSkill, path: str) -> bytes | None:
        """The bytes of one of its files, or None where it has none at that path. Raises StoreFault."""
        file = skill.package.file(path)
        if file is None:
            return None
        data = self._skill_file(skill) if path == SKILL_FILE else self._store.blob(file.digest)
        if data is None or digest_of(data) != file.digest:
            raise StoreFault(f"{path} of {skill.head.name} is not what its digest says: the store was changed by hand.")
        return data

    def _verdicts_of(self, repository: str | None) -> tuple[Key, tuple[Verdict, ...]]:
        """The key in force of a repository, and all verdicts by name, which a list is asked for page by page."""
        key, catalog = self._catalogs.catalog_of(repository)
        verdicts = self._verdicts.get(key)
        if verdicts is None:
            verdicts = catalog.verdicts()
            self._verdicts.put(key, verdicts)
        return key, verdicts

    def _skill_file(self, skill: OfferedSkill) -> bytes | None:
        package, head = skill.package, skill.head
        if not package.is_rendered:
            return self._store.blob(package.files[0].digest)
        return skill_file_of(self._contract(head.digest), head_json(head), package, None)

    def _contract(self, digest: str) -> dict[str, Json]:
        document = self._store.documents([digest]).get(digest)
        if document is None:
            raise _missing(digest)
        contract: dict[str, Json] = json.loads(document)
        return contract

    def _offered(self, verdicts: Sequence[Verdict], *, effective_only: bool = False) -> _Offered:
        wanted = [
            (verdict, side, head)
            for verdict in verdicts
            for side, head in readable_copies(verdict)
            if not effective_only or side is verdict.decision.serves
        ]
        packages = self._packaged([head for _, _, head in wanted])
        found: dict[str, list[OfferedSkill]] = {}
        is_complete = True
        for verdict, side, head in wanted:
            package = packages[_made_of(head)]
            if isinstance(package, NotOffered):
                is_complete = is_complete and not package.may_be_later
            else:
                found.setdefault(verdict.name, []).append(OfferedSkill(side, head, verdict, package))
        return _Offered(found, is_complete)

    def _packaged(self, heads: Iterable[Head]) -> dict[Made, SkillPackage | NotOffered]:
        found: dict[Made, SkillPackage | NotOffered] = {}
        missing: dict[Made, Head] = {}
        for head in heads:
            made = _made_of(head)
            known = self._packages.get(made)
            if known is None:
                missing[made] = head
            else:
                found[made] = known
        return {**found, **self._make(missing)} if missing else found

    def _make(self, heads: dict[Made, Head]) -> dict[Made, SkillPackage | NotOffered]:
        documents = self._store.documents({head.digest for head in heads.values()})
        contracts: dict[str, dict[str, Json]] = {digest: json.loads(body) for digest, body in documents.items()}
        companions = {file.digest for contract in contracts.values() for file in companions_of(contract)}
        absent = self._store.missing_blobs(companions) if companions else frozenset()
        made: dict[Made, SkillPackage | NotOffered] = {}
        for key, head in heads.items():
            contract = contracts.get(head.digest)
            if contract is None:
                raise _missing(head.digest)
            package = made[key] = self._package(contract, head, absent)
            if isinstance(package, NotOffered):
                self._tell(key, head, package.reason)
                size_bytes = 0 if package.may_be_later else NOT_OFFERED_BYTES
            else:
                size_bytes = package.size_bytes
            if size_bytes:
                self._packages.put(key, package, size_bytes)
        return made

    def _package(self, contract: dict[str, Json], head: Head, absent: frozenset[str]) -> SkillPackage | NotOffered:
        if any(file.digest in absent for file in companions_of(contract)):
            return NotOffered("the bytes of one of its files are not kept.", may_be_later=True)
        is_skill = contract.get("document") == SKILL_DOCUMENT
        original = self._store.blob(head.source.blob) if is_skill else None
        return package_of(contract, head_json(head), original)

    def _tell(self, made: Made, head: Head, reason: str) -> None:
        if self._told.get(made) is None:
            self._told.put(made, reason)
            log.warning(
                "a playbook is not offered as a skill",
                playbook=head.name,
                repository=head.source.repository,
                path=head.source.path,
                reason=reason,
            )


def readable_copies(verdict: Verdict) -> tuple[tuple[Side, Head], ...]:
    """The copies of a name that may be read: the one that serves, then those that it goes before; none if none serves.

    Not among them: refused, withdrawn and broken copies, and those of a name that nobody serves.
    """
    decision = verdict.decision
    if decision.serves is None:
        return ()
    copies = ((side, verdict.side(side)) for side in (decision.serves, *decision.over))
    return tuple((side, copy.head) for side, copy in copies if copy is not None and copy.head is not None)


def refused_copies(verdict: Verdict) -> tuple[RefusedCopy, ...]:
    """The copies of a name that a required playbook keeps out."""
    copies = ((side, verdict.side(side)) for side in verdict.decision.refused)
    return tuple(RefusedCopy(side, copy.head) for side, copy in copies if copy is not None and copy.head is not None)


def _made_of(head: Head) -> Made:
    source = head.source
    return (head.digest, source.blob, source.repository, source.path, head.version, head.owner or "", head.title)


def _missing(digest: str) -> StoreFault:
    return StoreFault(f"document {digest} is in a catalog and not in the store: restore the database.")
