"""What a change would do, before it is merged: a working copy's revision against what is in force.

Nothing is stored and nothing is locked. A service repository's change is merged with central as it is in force; one of
central is compared for every registered repository, of which only those are read that have a copy of a touched name.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from policies import change
from policies.rules import RuleSet
from registry.catalog.effect import held_on
from registry.catalog.revision import Revision
from registry.digest import Json
from registry.errors import RequestInvalid
from registry.playbook.reading import LOADER_VERSION
from registry.ports import Role, Store
from registry.service.effects import Repositories, central_effect, service_effect
from registry.service.fleet import Fleet
from registry.service.inforce import InForce, View


@dataclass(frozen=True, slots=True)
class Proposed:
    """A working copy as it was read.

    `unread` are the paths of files that do not load and whose name is unknown, so that no copy stands for them.
    """

    revision: Revision
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change to be looked at: what the source would be, and what it was before (None: what is in force).

    `repository` is the id or any spelling of it, None where a central copy does not say; `loader` the version of the
    rules that read the files.
    """

    role: Role
    repository: str | None
    proposed: Proposed
    base: Proposed | None = None
    loader: str = LOADER_VERSION


class Previews:
    """Works out what a change would do. Thread-safe; reads what is in force and changes nothing."""

    def __init__(self, in_force: InForce, store: Store) -> None:
        self._in_force = in_force
        self._fleet = Fleet(store)

    def preview(self, proposal: Proposal) -> dict[str, Json]:
        """The effect of a change (http-api.md, preview).

        Raises RepositoryInvalid, RequestInvalid for a service repository that is not named or is central, and
        Unavailable before central was read.
        """
        part = self._in_force.catalog(self._in_force.key(None))[0].base
        view = self._in_force.view
        if proposal.role is Role.CENTRAL:
            return self._of_central(view, proposal, part.revision)
        if proposal.repository is None:
            raise RequestInvalid("repository is missing: say whose change it is.")
        repository = self._in_force.resolve(proposal.repository)
        if repository == view.central:
            raise RequestInvalid(f"{repository} is the central repository: send its change with the role central.")
        is_registered = view.registered(repository) is not None
        pointer = view.pointers.get(repository) if is_registered else None
        in_force = None if pointer is None else self._in_force.revision(pointer.revision)
        before, after = _sides(proposal, in_force)
        everything = self._in_force.rules_in_force()
        return {
            **_about(proposal, repository, in_force, after, is_registered=is_registered),
            "central": {"repository": part.revision.repository, "commit": part.revision.commit},
            "rules_stay": False,
            **service_effect(part, everything, repository, before, after),
        }

    def _of_central(self, view: View, proposal: Proposal, in_force: Revision) -> dict[str, Json]:
        before, after = _sides(proposal, in_force)
        before = before or in_force
        # Rules never weaken by accident: without a policy file that loads, the last good one's hold (merge.md).
        rules_stay = after.policy is None and before.policy is not None
        after = replace(after, policy=before.policy) if rules_stay else after
        registered = [
            item for item in view.registrations.values() if item.deregistered_at is None and item.role is Role.SERVICE
        ]
        teams = {item.id: item.team for item in registered}
        before, after = _spelled(before, teams), _spelled(after, teams)
        revisions = {item.id: view.pointers[item.id].revision for item in registered if item.id in view.pointers}
        repositories = Repositories(
            teams=teams,
            read=frozenset(revisions),
            copies=lambda names: self._fleet.copies(revisions, names),
        )
        api = RuleSet(marks=view.api.marks, waivers=view.api.waivers, withdrawals=view.api.withdrawals)
        return {
            **_about(proposal, in_force.repository, in_force, after, is_registered=True),
            "central": {"repository": in_force.repository, "commit": in_force.commit},
            "rules_stay": rules_stay,
            **central_effect(before, after, api, self._in_force.judged_on, repositories),
        }


def _sides(proposal: Proposal, in_force: Revision | None) -> tuple[Revision | None, Revision]:
    """What the source was before the change, and what it would be after it, broken files held."""
    base = proposal.base
    before = in_force if base is None else held_on(base.revision, in_force, base.unread)
    return before, held_on(proposal.proposed.revision, before, proposal.proposed.unread)


def _spelled(revision: Revision, registered: Collection[str]) -> Revision:
    """`revision` with the repositories of its waivers as they are registered.

    Who read the file need not know on which hosts the case of a path counts.
    """
    if revision.policy is None:
        return revision
    exact = {item.casefold(): item for item in registered if item != item.casefold()}
    waivers = tuple(
        replace(item, repository=exact.get(item.repository, item.repository)) for item in revision.policy.waivers
    )
    return replace(revision, policy=replace(revision.policy, waivers=waivers))


def _about(
    proposal: Proposal, repository: str, in_force: Revision | None, after: Revision, *, is_registered: bool
) -> dict[str, Json]:
    served = [] if in_force is None else _served(in_force)
    compared = "base" if proposal.base is not None else "in-force" if in_force is not None else "nothing"
    return {
        "repository": repository,
        "role": proposal.role.value,
        "registered": is_registered,
        "compared_with": compared,
        "in_force": None if in_force is None else in_force.commit,
        "same_loader": proposal.loader == LOADER_VERSION,
        "suspended": change.is_too_large(served, _served(after)),
    }


def _served(revision: Revision) -> list[str]:
    return [copy.name for copy in revision.copies if copy.head is not None]
