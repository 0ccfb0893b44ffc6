"""The git program on PATH: which version it is, and the least one that does what is asked of it."""

import re
from pathlib import Path

from registry.errors import SourceFault
from registry.git.child import run_git

VERSION_MIN = (2, 31)
"""The first that takes its configuration from GIT_CONFIG_COUNT; older ones would run without the safe settings."""
DEADLINE_S = 5.0

_VERSION = re.compile(rb"git version (\d{1,4}(?:\.\d{1,4}){1,3})")


def git_version() -> tuple[int, ...] | None:
    """The version as numbers, (2, 39, 5); None where no git is found or it does not say its version."""
    try:
        said = run_git(["--version"], cwd=Path("/"), deadline_s=DEADLINE_S, allow=())
    except (OSError, SourceFault):
        return None
    found = _VERSION.match(said)
    return tuple(int(number) for number in found[1].split(b".")) if found else None
