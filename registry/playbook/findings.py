"""The problems of one document, collected while it is checked, and given their places together at the end."""

from typing import NamedTuple

from registry.playbook.atlas import Atlas, Spot
from registry.playbook.limits import Limits
from registry.playbook.load import Loaded
from registry.playbook.model import Level, Problem
from registry.playbook.problems import PROBLEM_CODES


class Finding(NamedTuple):
    """A problem whose place is still to be looked up; None is the file as a whole."""

    code: str
    level: Level
    spot: Spot | None
    message: str


class Findings:
    """Collects problems, no more of them than one file may have; `name` is the key that all of them are about."""

    def __init__(self, loaded: Loaded, path: str, limits: Limits) -> None:
        self.name: str | None = None
        self._loaded = loaded
        self._path = path
        self._most = limits.problems_per_file
        self._found: list[Finding] = []
        self._errors = 0

    @property
    def stopped(self) -> bool:
        """Whether one of the problems is an error."""
        return self._errors > 0

    @property
    def full(self) -> bool:
        """Whether further warnings are dropped; a file with thousands of them is told of the first ones."""
        return len(self._found) >= self._most

    def add(self, code: str, spot: Spot | None, message: str, level: Level | None = None) -> None:
        """Adds a problem of a known code, with the code's own level unless another is given."""
        level = level or PROBLEM_CODES[code].level
        if level is Level.ERROR:
            if self._errors >= self._most:
                return
            self._errors += 1
        elif self.full:
            return
        self._found.append(Finding(code, level, spot, message))

    def problems(self) -> tuple[Problem, ...]:
        """The problems, errors first and then by place: a thousand warnings must not hide what stops a file."""
        if not self._found:
            return ()
        places = iter(Atlas(self._loaded).places([each.spot for each in self._found if each.spot is not None]))
        made = [
            Problem(
                each.code, each.level, self._path, *(next(places) if each.spot else (1, 1)), each.message, self.name
            )
            for each in self._found
        ]
        made.sort(key=lambda each: (each.level is not Level.ERROR, each.line, each.column, each.code))
        return tuple(made[: self._most])
