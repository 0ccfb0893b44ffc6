"""A working copy as its user's own git sees it: where it comes from, and what was changed in it.

Unlike everything that is done for a server, this runs with the user's environment and configuration: `insteadOf` and
`safe.directory` are theirs, and so is the copy. It never touches the network, and never waits for anybody.
"""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from registry.errors import RepositoryInvalid
from registry.git.remote import redact
from registry.names import SUB_PATH_MARK, repository_id

DEADLINE_S: Final = 10.0
OUTPUT_BYTES_MAX: Final = 8 * 1024 * 1024
SUB_PATHS_MAX: Final = 6
_QUIET: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
_ABOUT_ANOTHER: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"})
"""What git sets for its hooks: it would make every call speak of the repository that the hook runs for."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where a working copy stands. `root` is its top folder; the others are None where there is none.

    `remote` is a URL without credentials, as git would reach it; `head` is a commit, `branch` a short name.
    """

    root: Path
    remote: str | None
    head: str | None
    branch: str | None


def open_checkout(folder: Path) -> Checkout | None:
    """The working copy around `folder`, or None where git sees none."""
    top = ask_git(folder, "rev-parse", "--show-toplevel")
    if not top:
        return None
    root = Path(top.decode(errors="surrogateescape").rstrip("\n"))
    return Checkout(
        root=root,
        remote=_remote(root),
        head=head_of(root),
        branch=line_of(ask_git(root, "symbolic-ref", "--short", "--quiet", "HEAD")),
    )


def head_of(root: Path) -> str | None:
    """The commit that is checked out, or None where there is none yet."""
    return line_of(ask_git(root, "rev-parse", "--verify", "--quiet", "HEAD"))


def detect_remote(folder: Path) -> str | None:
    """The URL of the working copy's remote (`origin`, else its only one) without credentials, or None."""
    checkout = open_checkout(folder)
    return None if checkout is None else checkout.remote


def ids_of(folder: Path, checkout: Checkout | None) -> list[str]:
    """The ids that a folder may have, the likeliest first: in a monorepo, a service's sub-path, then the whole.

    Of a folder far down only SUB_PATHS_MAX are named, from the top: each is asked about. `checkout` is the working copy
    around it. Raises RepositoryInvalid where it has none, or no remote to know it by.
    """
    if checkout is None:
        raise RepositoryInvalid(f"{folder} is no git working copy: say which repository is meant.")
    if checkout.remote is None:
        raise RepositoryInvalid(f"{folder} has no remote to know it by: say which repository is meant.")
    whole = str(repository_id(checkout.remote))
    try:
        inside = folder.resolve().relative_to(checkout.root.resolve())
    except (ValueError, OSError, RuntimeError):
        inside = Path()  # Elsewhere, or a current folder that is not there any more, or links in a ring.
    parts = [inside, *inside.parents][:-1] if inside.parts else []
    # The name of a folder need not be text, and then it is no service's that anybody registered.
    named = [part.as_posix() for part in parts[-SUB_PATHS_MAX:] if part.as_posix().isprintable()]
    return [*(f"{whole}{SUB_PATH_MARK}{part}" for part in named), whole]


def changed_since(root: Path, commits: Sequence[str | None], folders: Sequence[str]) -> frozenset[str] | None:
    """The paths below `folders` that this copy's author changed, added or deleted, committed or not.

    Compared with where the copy branched off from the first of `commits` that git knows here (names of refs will do).
    None where there is no such commit, so that nobody can tell. What git ignores is nobody's change.
    """
    base = next((base for commit in commits if commit and (base := _merge_base(root, commit))), None)
    if base is None:
        return None
    places = [folder or "." for folder in folders]
    differing = ask_git(root, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", base, "--", *places)
    untracked = ask_git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *places)
    if differing is None or untracked is None:
        return None
    listed = (differing + untracked).split(b"\0")
    return frozenset(os.fsdecode(path) for path in listed if path)


def _merge_base(root: Path, commit: str) -> str | None:
    if commit.startswith("-"):
        return None
    return line_of(ask_git(root, "merge-base", "HEAD", f"{commit}^{{commit}}"))


def _remote(root: Path) -> str | None:
    names = (ask_git(root, "remote") or b"").decode(errors="replace").split()
    name = "origin" if "origin" in names else names[0] if len(names) == 1 else None
    url = line_of(ask_git(root, "ls-remote", "--get-url", name)) if name else None
    return redact(url).replace("***@", "") if url and url.startswith("http") else url


def line_of(output: bytes | None) -> str | None:
    """What git said as one line of text, or None where it said nothing."""
    return output.decode(errors="replace").strip() or None if output else None


def ask_git(folder: Path, *args: str) -> bytes | None:
    """What the user's git says, or None where it fails, is not there, or takes too long."""
    environment = {key: value for key, value in os.environ.items() if key not in _ABOUT_ANOTHER}
    try:
        done = subprocess.run(  # noqa: S603 - the user's git, with words of our own and paths after --
            ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *args],  # noqa: S607 - the one on the user's PATH
            env={**environment, **_QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and len(done.stdout) <= OUTPUT_BYTES_MAX else None
