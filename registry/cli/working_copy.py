"""A folder on disk, read as the server would read its commit."""

from pathlib import Path

from registry.cli.outcome import Misused
from registry.errors import SourceFault
from registry.git import worktree
from registry.git.folder import WorkingCopy
from registry.playbook.roots import Roots
from registry.ports import Role
from registry.service.checking import Report, check
from registry.sync.source import SourcePlan


def read(
    path: Path,
    *,
    repository: str | None = None,
    globs: tuple[str, ...] = (),
    policy_path: str | None = None,
    required: frozenset[str] = frozenset(),
) -> Report:
    """What a sync of the folder would find; with `policy_path` as a central repository. Raises Misused."""
    plan = SourcePlan(
        repository=repository or "local/working-copy",
        role=Role.SERVICE if policy_path is None else Role.CENTRAL,
        roots=Roots(globs or None),
        policy_path=policy_path,
    )
    try:
        return check(WorkingCopy(path), plan, required)
    except SourceFault as error:
        raise Misused(str(error)) from None


def passed_over(path: Path, globs: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The files where playbooks are looked for, sorted by path. Raises Misused."""
    roots = Roots(globs or None)
    try:
        return tuple(file.path for file in worktree.list_files(path, enter=roots.enter, wanted=roots.wanted))
    except SourceFault as error:
        raise Misused(str(error)) from None
