"""Reading one source at one commit: tree in, revision and documents out."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache

from policies import publication, rules
from policies.rules import PublicationRules, RuleSet
from registry.catalog.copies import CopySet, EarlierCopy, Origin, copies_of
from registry.catalog.revision import Revision, folded_tags
from registry.digest import canonical, digest_of
from registry.errors import SourceTooLarge
from registry.playbook.companions import Companion
from registry.playbook.limits import DEFAULT_LIMITS, Limits
from registry.playbook.model import Level, Playbook, Problem, Reading
from registry.playbook.policy_file import read_policy
from registry.playbook.reading import LOADER_VERSION, read_file
from registry.playbook.roots import Roots
from registry.playbook.skill import is_skill_file
from registry.ports import GitSource, RemoteHead, Role, Tree, TreeFile
from registry.sync.companions import SkillFolders
from registry.sync.elsewhere import skills_elsewhere
from registry.sync.entries import entry_problem
from registry.sync.links import without_links
from registry.sync.readings import ReadingCache

POLICY_BYTES_MAX = 1024 * 1024
PLACES_MAX = 65_536
HISTORY_COMMITS_MAX = 100
HELD_LOOKUPS_MAX = 200
"""How many broken files of one source are looked up in its history; further ones fall back to what served before."""


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """What to read of a source: who it is, its roots, and for central where its policy file is."""

    repository: str
    role: Role
    roots: Roots
    policy_path: str | None
    accept_policy: bool = False
    limits: Limits = DEFAULT_LIMITS
    case_sensitive_hosts: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """`central` or `local`, as entries say it."""
        return "central" if self.role is Role.CENTRAL else "local"


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A revision that was read, its canonical bytes and digest, and the documents that its copies pin.

    `originals` has the blob id of each file that loaded, held ones included, and of a skill's other files, by the
    digest of its bytes.
    """

    revision: Revision
    body: bytes
    digest: str
    documents: Mapping[str, bytes]
    originals: Mapping[str, str]


def read_source(
    source: GitSource, head: RemoteHead, plan: SourcePlan, previous: Revision | None, cache: ReadingCache
) -> SourceRead | None:
    """The revision of a fetched head, or None where neither roots nor policy changed since `previous`.

    Raises from the SourceFault tree. One bad file never hurts another: what is wrong with a file becomes a problem.
    """
    with closing(source.read(head.commit)) as tree:
        return _read_tree(source, tree, head, plan, previous, cache)


def _read_tree(
    source: GitSource, tree: Tree, head: RemoteHead, plan: SourcePlan, previous: Revision | None, cache: ReadingCache
) -> SourceRead | None:
    # Asked for each path several times, and each time compared with every pattern.
    place_of = lru_cache(PLACES_MAX)(plan.roots.index)
    files = tree.list_files(enter=plan.roots.enter, wanted=lambda path: place_of(path) is not None)
    skills = SkillFolders(tree, files)
    policy_blob = tree.blob_id(plan.policy_path) if plan.policy_path is not None else None
    elsewhere = () if files or _was_empty(previous) else skills_elsewhere(tree, plan.roots, plan.role)
    remarks = [problem.message for problem in elsewhere]
    fingerprint = fingerprint_of([*files, *skills.files], place_of, policy_blob, remarks)
    if _is_unchanged(previous, fingerprint, head, plan):
        return None
    policy, policy_problems = _read_policy_file(tree, policy_blob, plan, previous)
    publish = policy.publication if policy is not None and plan.role is Role.CENTRAL else PublicationRules(frozenset())
    skills.hash_files(cache.hashes)
    reader = _FileReader(source, tree, plan, publish, cache, skills)
    own_files, root_of = without_links(files, place_of)
    readings, tree_problems = reader.read_all(own_files)
    found = copies_of(
        readings,
        origin=Origin(plan.kind, plan.repository, head.commit),
        root_of=root_of.__getitem__,
        previous=previous,
        earlier=reader.earlier,
        required_tags=_marked_tags(policy),
    )
    problems = [*found.problems, *tree_problems, *skills.problems, *policy_problems, *elsewhere]
    problems.extend(_missing_part(tree, plan))
    if policy is not None:
        problems.extend(_unmatched(policy, found, plan.policy_path or ""))
    revision = Revision(
        repository=plan.repository,
        kind=plan.kind,
        ref=head.ref,
        commit=head.commit,
        loader=LOADER_VERSION,
        fingerprint=fingerprint,
        copies=found.copies,
        problems=tuple(sorted(problems, key=lambda item: (item.path, item.line, item.column, item.code))),
        policy=policy,
    )
    body = revision.to_bytes()
    documents = {item.digest: item.contract_bytes for item in found.playbooks}
    return SourceRead(revision, body, digest_of(body), documents, reader.originals(files, readings))


def _was_empty(previous: Revision | None) -> bool:
    """Whether nothing was there before either: most pushes have nothing to do with playbooks, and must cost nothing."""
    return previous is not None and previous.fingerprint != "" and not (previous.copies or previous.problems)


def _missing_part(tree: Tree, plan: SourcePlan) -> tuple[Problem, ...]:
    """A mistyped sub-path must not pass for a service without playbooks."""
    part = plan.roots.sub_path
    if not part or tree.tree_id(part) is not None:
        return ()
    message = f"the repository has no folder {part}, which it is registered with: register it as it is written there."
    return (Problem("sub-path-missing", Level.WARNING, part, 1, 1, message),)


def fingerprint_of(
    files: Sequence[TreeFile],
    place_of: Callable[[str], int | None],
    policy_blob: str | None,
    remarks: Sequence[str] = (),
) -> str:
    """The digest of everything that is read: while it stays the same, there is nothing to read again.

    `place_of` gives the place of a path's root; `remarks` are what is said of files that are not read. The listed
    files and not the roots' tree ids: a link's target may lie outside every root. Each with its root's place, because
    the order of the roots decides between twins, and with the path that links lead to, because a copy in a link's
    place is a twin.
    """
    rows = [[file.path, file.kind, file.blob_id, place_of(file.path), file.target] for file in files]
    return digest_of(canonical([policy_blob, *remarks, *rows]))


def _is_unchanged(previous: Revision | None, fingerprint: str, head: RemoteHead, plan: SourcePlan) -> bool:
    return (
        previous is not None
        and not plan.accept_policy
        and previous.fingerprint == fingerprint
        and previous.loader == LOADER_VERSION
        and previous.ref == head.ref
    )


class _FileReader:
    """The files of one commit as readings, through the cache."""

    def __init__(
        self,
        source: GitSource,
        tree: Tree,
        plan: SourcePlan,
        publish: PublicationRules,
        cache: ReadingCache,
        skills: SkillFolders,
    ) -> None:
        self._source = source
        self._tree = tree
        self._skills = skills
        self._plan = plan
        self._publish = publish
        self._cache = cache
        self._lookups = 0
        self._held: dict[str, str] = {}

    def originals(self, files: Sequence[TreeFile], readings: Sequence[Reading]) -> dict[str, str]:
        """Digest -> blob id of what loaded: files, skills' other files, and what stands in for broken ones."""
        found = dict(self._held)
        blob_ids = {file.path: file.blob_id for file in files}
        for reading in readings:
            if reading.playbook is not None:
                found[reading.blob] = blob_ids[reading.path]
                found.update(self._skills.blob_ids(reading.path))
        return found

    def read_all(self, files: Sequence[TreeFile]) -> tuple[list[Reading], list[Problem]]:
        limits = self._plan.limits
        if len(files) > limits.repository_files:
            raise SourceTooLarge(
                f"{len(files)} files match the playbook folders, {limits.repository_files} are read at most: narrow "
                "the registration's paths."
            )
        problems: list[Problem] = []
        blobs: list[tuple[str, str]] = []
        for file in files:
            problem = entry_problem(file)
            if problem is not None:
                problems.append(problem)
            else:
                blobs.append((file.path, file.blob_id))
        missing = {blob for path, blob in blobs if self._cache.get(self._key(path, blob)) is None}
        if missing:
            self._tree.hydrate(missing)
        readings: list[Reading] = []
        total_bytes = 0
        for path, blob in blobs:
            reading, size_bytes = self._read(path, blob)
            total_bytes += size_bytes
            if total_bytes > limits.repository_bytes:
                raise SourceTooLarge(
                    f"the playbook folders hold more than {limits.repository_bytes // 2**20} MiB: move what is no "
                    "playbook out of them."
                )
            readings.append(self._published(reading))
        return readings, problems

    def earlier(self, path: str) -> EarlierCopy | None:
        """The newest version of a file that loads, at most 100 first-parent commits back (merge.md, Held copy)."""
        self._lookups += 1
        if self._lookups > HELD_LOOKUPS_MAX:
            return None
        for commit, data in self._tree.history(path, HISTORY_COMMITS_MAX):
            if data is None:
                # What was deleted has ended: a later file of that path does not bring it back.
                return None
            if not isinstance(data, bytes):
                continue
            reading = self._published(self._parse(path, data, ()))
            if reading.playbook is None:
                continue
            reading, originals = self._read_at(commit, path, data, reading)
            if reading.playbook is not None:
                self._held.update(originals)
                return EarlierCopy(reading.playbook, commit)
        return None

    def _key(self, path: str, blob: str) -> tuple[str, str, str]:
        return path, blob + self._skills.mark(path), self._plan.kind

    def _read(self, path: str, blob: str) -> tuple[Reading, int]:
        key = self._key(path, blob)
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        data = self._tree.read_blob(blob, self._plan.limits.file_bytes)
        if not isinstance(data, bytes):
            return _too_large(path, self._plan.limits), 0
        reading = self._parse(path, data, self._skills.of(path))
        self._cache.put(key, reading, len(data))
        return reading, len(data)

    def _read_at(self, commit: str, path: str, data: bytes, reading: Reading) -> tuple[Reading, dict[str, str]]:
        """A good file as it was at an earlier commit, with the blob ids of its bytes and of a skill's other files.

        A held copy is what once was there, the other files included. Without a playbook where those were too many.
        """
        with closing(self._source.read(commit)) as tree:
            blob_id = tree.blob_id(path)
            originals = {digest_of(data): blob_id} if blob_id is not None else {}
            if not is_skill_file(path):
                return reading, originals
            try:
                listed = tree.list_files(enter=self._plan.roots.enter, wanted=self._plan.roots.wanted)
                skills = SkillFolders(tree, listed)
                skills.hash_files(self._cache.hashes, only=path)
            except SourceTooLarge:
                return replace(reading, playbook=None), {}
        return self._published(self._parse(path, data, skills.of(path))), {**originals, **skills.blob_ids(path)}

    def _parse(self, path: str, data: bytes, companions: Sequence[Companion]) -> Reading:
        return read_file(path, data, limits=self._plan.limits, role=self._plan.role.value, companions=companions)

    def _published(self, reading: Reading) -> Reading:
        """A central file that lacks what the policy file asks for does not load (merge.md, The policy file)."""
        if reading.playbook is None:
            return reading
        missing = publication.missing(reading.playbook.fields, self._publish)
        if not missing:
            return reading
        problems = tuple(
            publication_problem(reading.playbook, field, Level.ERROR, self._plan.policy_path or "") for field in missing
        )
        return replace(
            reading,
            playbook=None,
            problems=(*reading.problems, *problems),
            claims=reading.playbook.key,
            says_required=reading.playbook.required,
            tags=reading.playbook.tags,
        )


def publication_problem(playbook: Playbook, field: str, level: Level, policy_path: str) -> Problem:
    """What to say of a playbook that lacks a field which the central policy file asks for."""
    message = f"{field} is missing, and {policy_path} asks every central playbook for it: add {field}."
    return Problem("publication-missing", level, playbook.path, 1, 1, message, playbook.key)


def _too_large(path: str, limits: Limits) -> Reading:
    message = f"the file is larger than {limits.file_bytes} bytes: move what is no procedure out of it."
    return Reading(
        path, "", None, (Problem("too-large", Level.ERROR, path, 1, 1, message),), None, None, candidate=True
    )


def _marked_tags(policy: RuleSet | None) -> frozenset[str]:
    return frozenset(mark.tag for mark in policy.marks if mark.tag) if policy is not None else frozenset()


def _read_policy_file(
    tree: Tree, blob: str | None, plan: SourcePlan, previous: Revision | None
) -> tuple[RuleSet | None, list[Problem]]:
    """The policy in force after this commit: rules never weaken by accident (merge.md, Required)."""
    if plan.policy_path is None:
        return None, []
    last_good = previous.policy if previous is not None else None
    if blob is None:
        if last_good is None or plan.accept_policy:
            return None, []
        return last_good, [
            _policy_problem(
                "policy-missing",
                plan.policy_path,
                "the policy file is gone, so its last good rules stay in force: restore it, or say "
                "`registry policy accept` if no rules are wanted.",
            )
        ]
    tree.hydrate({blob})
    data = tree.read_blob(blob, POLICY_BYTES_MAX)
    found, problems = None, list[Problem]()
    if isinstance(data, bytes):
        found, read_problems = read_policy(plan.policy_path, data, case_sensitive_hosts=plan.case_sensitive_hosts)
        problems.extend(read_problems)
    if found is not None:
        return found, problems
    if last_good is not None and plan.accept_policy:
        return None, problems
    stays = "its last good rules stay in force" if last_good is not None else "no rules are in force"
    problems.append(
        _policy_problem("policy-invalid", plan.policy_path, f"the policy file does not load, so {stays}: mend it.")
    )
    return last_good, problems


def _unmatched(policy: RuleSet, found: CopySet, policy_path: str) -> list[Problem]:
    """A typo in a rule must not leave a playbook unprotected in silence."""
    tags = {copy.name: folded_tags(copy.head.tags) if copy.head else () for copy in found.copies}
    problems = []
    for mark, nearest in rules.unmatched(policy, tags):
        what = f"the name {mark.name}" if mark.name else f"the tag {mark.tag}"
        hint = f" Did you mean {nearest}?" if nearest else ""
        problems.append(
            _policy_problem(
                "required-unmatched", policy_path, f"{what} is marked required and matches no central playbook.{hint}"
            )
        )
    return problems


def _policy_problem(code: str, path: str, message: str) -> Problem:
    return Problem(code, Level.ERROR, path, 1, 1, message)
