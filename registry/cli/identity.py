"""Which repository a folder is to the registry: what git says of it, and under which id it is registered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry.cli.outcome import Misused
from registry.cli.terminal import shown
from registry.errors import RepositoryInvalid
from registry.git.checkout import Checkout, ids_of, open_checkout
from registry.names import SUB_PATH_MARK, repository_id

Ask = Callable[[str], Mapping[str, Any] | None]
"""A spelling of a repository in, its registration out, None where there is none."""


@dataclass(frozen=True, slots=True)
class Place:
    """A working copy, and who it is: `folder` is where a host works, the copy's top or a service's in a monorepo.

    `passed` is the folder that was given where that is another one, `registration` what the registry has of
    `identity`.
    """

    checkout: Checkout
    folder: Path
    identity: str
    registration: Mapping[str, Any] | None = None
    passed: Path | None = None

    @property
    def part(self) -> str:
        """The service's path in its repository, "" for a whole one."""
        return self.identity.partition(SUB_PATH_MARK)[2]


def locate(path: Path, spelling: str | None, ask: Ask) -> Place:
    """The working copy at `path`, as the repository that `spelling` names or else its remote does.

    `ask` is asked for each id that it may have. Raises Misused for a folder that is no copy, or one without a name.
    """
    if not path.is_dir():
        raise Misused(f"{shown(path)} is no folder: give the folder of a working copy.")
    checkout = open_checkout(path)
    if checkout is None:
        raise Misused(
            f"{shown(path.resolve())} is no git working copy: call it in a clone of the repository, or give its folder."
        )
    try:
        ids = [str(repository_id(spelling))] if spelling else ids_of(path, checkout)
    except RepositoryInvalid as error:
        raise Misused(_why(error, checkout, spelling)) from None
    registration = None
    for identity in ids:
        registration = ask(identity)
        if registration is not None:
            return _placed(path, checkout, str(registration["id"]), registration)
    return _placed(path, checkout, ids[-1], None)


def _placed(path: Path, checkout: Checkout, identity: str, registration: Mapping[str, Any] | None) -> Place:
    top = checkout.root
    part = identity.partition(SUB_PATH_MARK)[2]
    folder = top / part if part and (top / part).is_dir() else top
    here = path.resolve()
    return Place(checkout, folder, identity, registration, passed=here if not part and here != top.resolve() else None)


def _why(error: RepositoryInvalid, checkout: Checkout, spelling: str | None) -> str:
    if spelling is not None:
        return error.detail
    if checkout.remote is None:
        return (
            "this copy has no remote to know it by: `git remote add origin URL` gives it one, or name it with "
            "--repository."
        )
    return (
        f"the remote {shown(checkout.remote)} is none that a registry could know this copy by: name it with "
        "--repository, for example github.com/acme/payments."
    )
