"""A folder on disk, and the commit that it branched off from, read as the server would read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from registry.cli.outcome import Misused
from registry.errors import Corrupt, SourceFault
from registry.git import worktree
from registry.git.checkout import ask_git
from registry.git.folder import WorkingCopy
from registry.names import SUB_PATH_MARK
from registry.playbook.roots import Roots
from registry.ports import Role
from registry.service.checking import Base, Copies, read_copies
from registry.sync.readings import ReadingCache
from registry.sync.source import SourcePlan

if TYPE_CHECKING:
    # libgit2 takes a tenth of a second to load, and only a comparison needs it.
    from registry.git.branchpoint import BranchPointSource


@dataclass(frozen=True, slots=True)
class Reading:
    """The playbooks of a working copy and, where it was compared, of the commit that it branched off from."""

    now: Copies
    before: Copies | None
    base: Base | None


def plan_for(
    path: Path,
    role: Role,
    *,
    globs: tuple[str, ...] = (),
    policy_path: str = "policy.yaml",
    registration: Mapping[str, Any] | None = None,
) -> SourcePlan:
    """What to read of a working copy, as it is registered where that is known. Raises Misused for unusable globs."""
    identity = str(registration["id"]) if registration is not None else "local/working-copy"
    registered = registration.get("paths") if registration is not None else None
    patterns = globs or (tuple(str(item) for item in registered) if isinstance(registered, list) else None)
    part = identity.partition(SUB_PATH_MARK)[2]
    try:
        # A service of a monorepo may be checked from the repository's root, or in its own folder.
        roots = Roots(patterns, part if part and (path / part).is_dir() else "")
    except ValueError as error:
        raise Misused(f"the playbook folders cannot be read: {error}") from None
    return SourcePlan(identity, role, roots, policy_path if role is Role.CENTRAL else None)


def has_policy(path: Path, policy_path: str, ref: str | None) -> bool:
    """Whether a folder has a policy file, or had one when it was last committed or at `ref`.

    A change that deletes the rules is still one of the central repository.
    """
    commits = ("HEAD",) if ref is None else ("HEAD", ref)
    return (path / policy_path).exists() or any(
        ask_git(path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}:./{policy_path}")
        for commit in commits
    )


def read(path: Path, plan: SourcePlan, ref: str | None) -> Reading:
    """What is on disk, and with `ref` what was there where HEAD branched off from it. Raises Misused."""
    cache = ReadingCache()
    try:
        if ref is None:
            return Reading(read_copies(WorkingCopy(path), plan, cache=cache), None, None)
        from registry.git.branchpoint import BranchPointSource, find_branch_point  # noqa: PLC0415 - see above
        from registry.git.changed import ChangedCopy  # noqa: PLC0415 - see above

        source = BranchPointSource(find_branch_point(path, ref))
        before = _read_base(source, plan, cache)
        now = read_copies(ChangedCopy(path, source.commit), plan, before.revision, cache)
    except SourceFault as error:
        raise Misused(str(error)) from None
    return Reading(now, before, Base(ref, source.commit))


def _read_base(source: "BranchPointSource", plan: SourcePlan, cache: ReadingCache) -> Copies:
    try:
        return read_copies(source, plan, cache=cache)
    except Corrupt:
        raise Misused(
            f"the files of {source.commit}, where HEAD branched off from {source.ref}, are not all here: a partial or "
            "broken clone cannot be compared. `git fetch --refetch` brings them."
        ) from None


def passed_over(path: Path, plan: SourcePlan) -> tuple[str, ...]:
    """The files where playbooks are looked for, sorted by path. Raises Misused."""
    try:
        return tuple(file.path for file in worktree.list_files(path, enter=plan.roots.enter, wanted=plan.roots.wanted))
    except SourceFault as error:
        raise Misused(str(error)) from None
