"""Everything a door may call, in one value."""

from collections.abc import Callable
from dataclasses import dataclass

from registry.service.audit import Audit
from registry.service.catalogs import Catalogs
from registry.service.evaluation import Evaluations
from registry.service.inforce import InForce
from registry.service.policy import Policy
from registry.service.previewing import Previews
from registry.service.problems import Problems
from registry.service.repositories import Repositories
from registry.service.runs import Runs
from registry.service.search import Search
from registry.service.skill_index import SkillIndexes
from registry.service.skills import Skills
from registry.service.tokens import Tokens


class Health:
    """Whether this process can answer."""

    def __init__(self, in_force: InForce) -> None:
        self._in_force = in_force

    def ready(self) -> tuple[bool, str]:
        """(ready, why not): the stored pointers are loaded and central was ever published (http-api.md)."""
        view = self._in_force.view
        if view.central is None:
            return False, "the store has not been read yet."
        if view.central not in view.pointers:
            status = view.statuses.get(view.central)
            if status is None or not status.message:
                return False, "the central repository is being read for the first time."
            return False, f"the central repository was never published. {status.message}"
        return True, ""


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one process; `refresh` follows the store, `close` releases what they hold."""

    catalogs: Catalogs
    search: Search
    skills: Skills
    skill_indexes: SkillIndexes
    evaluations: Evaluations
    repositories: Repositories
    problems: Problems
    policy: Policy
    previews: Previews
    runs: Runs
    tokens: Tokens
    audit: Audit
    health: Health
    in_force: InForce
    refresh: Callable[[], bool]
    close: Callable[[], None]
