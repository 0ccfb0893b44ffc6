"""What wants attention: the problems of what is in force and the remarks on it, of one repository or of all."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from registry.catalog.attention import all_problems, read_attention
from registry.digest import Json
from registry.errors import RequestInvalid, StoreFault, Unavailable, Unknown
from registry.playbook.model import Level, Problem
from registry.playbook.problems import PROBLEM_CODES
from registry.playbook.spelling import suggestion
from registry.ports import Store
from registry.service.inforce import InForce
from registry.service.views import problem_row

LIMIT_DEFAULT, LIMIT_MAX = 50, 200
CODES_MAX = 50
AT_ONCE = 50
"""Repositories whose remarks are read together."""
LOOKED_AT_MAX = 1_000
"""Repositories that one page looks at: what was counted of them may be gone since."""


Found = tuple[tuple[Problem, bool], ...]
"""Problems, each with whether an earlier good copy of its file serves."""


class Problems:
    """Lists problems. What files say is as new as the catalogs; remarks follow within moments. Thread-safe."""

    def __init__(self, in_force: InForce, store: Store) -> None:
        self._in_force = in_force
        self._store = store

    def of(self, repository: str) -> dict[str, Json]:
        """Every file of a repository that did not load or wants attention, in the revision in force.

        Raises Unknown where it is not registered, Unavailable where it was not read yet.
        """
        identity = self._registered(repository)
        found = self._found([identity])
        if identity not in found:
            status = self._in_force.view.statuses.get(identity)
            said = status.message if status is not None else ""
            raise Unavailable(f"{identity} has not been read yet: {said}".strip())
        commit, problems = found[identity]
        rows = [problem_row(item, held=held) for item, held in problems]
        return {"repository": identity, "commit": commit, "problems": rows}

    def page(
        self,
        *,
        codes: Collection[str] = (),
        level: str | None = None,
        team: str | None = None,
        repository: str | None = None,
        cursor: str | None = None,
        limit: int = LIMIT_DEFAULT,
    ) -> dict[str, Json]:
        """A page of problems of all repositories, sorted by repository and place, each with its repository.

        Raises RequestInvalid for a filter or cursor that is none, Unknown for a repository that is not registered.
        """
        if not 1 <= limit <= LIMIT_MAX:
            raise RequestInvalid(f"limit is {limit}: give a number from 1 to {LIMIT_MAX}.")
        wanted = _codes(codes)
        of_level = _level(level)
        after, done = _place(cursor)
        chosen = [item for item in self._chosen(wanted, of_level, team, repository) if item >= after]
        rows: list[Json] = []
        for number, (identity, problems) in enumerate(self._walk(chosen)):
            fitting = [
                (item, held)
                for item, held in problems
                if (not wanted or item.code in wanted) and of_level in {None, item.level}
            ]
            begun = done if identity == after else 0
            for place, (item, held) in enumerate(fitting[begun:], start=begun):
                if len(rows) == limit:
                    return {"items": rows, "next_cursor": f"{identity}#{place}"}
                rows.append({"repository": identity, **problem_row(item, held=held)})
            if number + 1 == LOOKED_AT_MAX and number + 1 < len(chosen):
                return {"items": rows, "next_cursor": f"{chosen[number + 1]}#0"}
        return {"items": rows, "next_cursor": None}

    def tally(self) -> Mapping[tuple[str, Level], int]:
        """(code, level) -> how many problems there are of all repositories together."""
        return self._store.tally()

    def _chosen(
        self, codes: Collection[str], level: Level | None, team: str | None, repository: str | None
    ) -> list[str]:
        """The ids of the repositories that may have such problems, sorted."""
        view = self._in_force.view
        only = None if repository is None else self._registered(repository)
        return sorted(
            identity
            for identity in self._store.repositories_with(codes, level)
            if (found := view.registered(identity)) is not None
            and only in {None, identity}
            and team in {None, found.team}
        )

    def _walk(self, identities: Sequence[str]) -> Iterator[tuple[str, Found]]:
        """Each repository with its problems; those that have nothing in force have none."""
        for start in range(0, len(identities), AT_ONCE):
            batch = identities[start : start + AT_ONCE]
            found = self._found(batch)
            yield from ((identity, found[identity][1] if identity in found else ()) for identity in batch)

    def _found(self, identities: Sequence[str]) -> dict[str, tuple[str, Found]]:
        """Repository -> (commit, problems) of those that have something in force."""
        pointers = self._in_force.view.pointers
        revisions = {identity: pointers[identity].revision for identity in identities if identity in pointers}
        bodies = self._store.revisions(revisions.values())
        remarks = self._store.remarks(revisions.keys())
        asked = self._in_force.rules_in_force().publication
        found: dict[str, tuple[str, Found]] = {}
        for identity, digest in revisions.items():
            if digest not in bodies:
                raise StoreFault(f"revision {digest} is named by a pointer and not in the store: restore the database.")
            attention = read_attention(bodies[digest])
            said = remarks[identity].problems if identity in remarks else ()
            found[identity] = (attention.commit, all_problems(attention, said, asked))
        return found

    def _registered(self, repository: str) -> str:
        identity = self._in_force.resolve(repository)
        if self._in_force.view.registered(identity) is None:
            raise Unknown("repository", f"{identity} is not registered: register it first.", repository=identity)
        return identity


def _codes(codes: Collection[str]) -> frozenset[str]:
    if len(codes) > CODES_MAX:
        raise RequestInvalid(f"code is given {len(codes)} times: give at most {CODES_MAX}.")
    for code in codes:
        if code not in PROBLEM_CODES:
            raise RequestInvalid(f"{code[:40]!r} is no problem's code: {suggestion(code[:64], PROBLEM_CODES)}")
    return frozenset(codes)


def _level(level: str | None) -> Level | None:
    if level is not None and level not in set(Level):
        raise RequestInvalid(f"{level[:40]!r} is no level: use one of {', '.join(Level)}.")
    return None if level is None else Level(level)


def _place(cursor: str | None) -> tuple[str, int]:
    """(repository, rows of it that the pages before had)."""
    if cursor is None:
        return "", 0
    repository, mark, done = cursor.rpartition("#")
    if not mark or not (done.isascii() and done.isdigit() and len(done) <= 9):
        raise RequestInvalid("the cursor is none that a page gave: take `next_cursor` as it is.")
    return repository, int(done)
