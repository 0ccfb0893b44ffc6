"""Files of a working copy that are to be made or changed: looked at first, then written, each whole or not at all."""

import contextlib
import difflib
import os
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE_BYTES_MAX: Final = 1024 * 1024
FILE_MODE: Final = 0o644

# What stands beside a name like these is nobody's business but the file's, unless it only names a variable.
_NAMED_SECRET: Final = re.compile(
    r"""([\w.-]*(?:token|secret|passw|key|auth|credential|cookie)[\w.-]*["']?\s*[:=]\s*(["']))"""
    r"""(?!(?:bearer\s+|basic\s+)?(?:\$|\{env:|%))(?!REGISTRY_TOKEN["'])(?:(?!\2).)+""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a file is not touched, as the rest of a sentence that begins with its path."""

    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """One file, by its path below the folder: what it holds (None: it is not there), and what it is to hold."""

    path: str
    before: str | None
    after: str

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return self.before == self.after


def read_text(root: Path, path: str) -> str | Obstacle | None:
    """The text of a file below `root`, None where there is none, or why it may not be replaced.

    A link is none that we write through, be it the file or a folder on the way: it may lead out of the copy.
    """
    place = root
    for part in Path(path).parts:
        place = place / part
        try:
            facts = place.lstat()
        except FileNotFoundError:
            break
        except OSError as error:
            return Obstacle(f"cannot be looked at ({error.strerror})")
        if stat.S_ISLNK(facts.st_mode):
            return Obstacle(f"is not written: {place.relative_to(root)} is a symbolic link, which may lead elsewhere")
        wanted = stat.S_ISREG if place == root / path else stat.S_ISDIR
        if not wanted(facts.st_mode):
            kind = "file" if place == root / path else "folder"
            return Obstacle(f"cannot be written: {place.relative_to(root)} is there and is no {kind}")
    target = root / path
    if not target.exists():
        return None if _may_make(target) else Obstacle("cannot be made: this user may not write to its folder")
    if not os.access(target, os.W_OK) or not os.access(target.parent, os.W_OK | os.X_OK):
        return Obstacle("cannot be written by this user")
    return _decoded(target)


def _may_make(target: Path) -> bool:
    there = next(folder for folder in target.parents if folder.exists())
    return os.access(there, os.W_OK | os.X_OK)


def _decoded(target: Path) -> str | Obstacle:
    try:
        with target.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        return Obstacle(f"cannot be read ({error.strerror})")
    if len(data) > FILE_BYTES_MAX:
        return Obstacle(f"is larger than {FILE_BYTES_MAX >> 20} MiB: nothing is changed in it")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Obstacle("is no UTF-8 text: nothing is changed in it")


def write(root: Path, change: Change) -> Obstacle | None:
    """Make the change: beside the file first, then in its place. The obstacle where that was not possible."""
    target = root / change.path
    made = [folder for folder in reversed(target.parents) if root in folder.parents and not folder.exists()]
    aside = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if change.before is not None else None
        # Not through a link, and with the rights that the user's umask gives a new file.
        with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as file:  # noqa: PTH123
            file.write(change.after.encode())
        if mode is not None:
            aside.chmod(mode)
        aside.replace(target)
    except (OSError, UnicodeEncodeError) as error:
        aside.unlink(missing_ok=True)
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        return Obstacle(f"cannot be written ({getattr(error, 'strerror', None) or error})")
    return None


def diff_of(change: Change) -> str:
    """The change as a unified diff, with nothing in it that looks like a secret."""
    before = (change.before or "").splitlines(keepends=True)
    old = "/dev/null" if change.before is None else f"a/{change.path}"
    lines = difflib.unified_diff(before, change.after.splitlines(keepends=True), old, f"b/{change.path}", n=1)
    return "\n".join(_NAMED_SECRET.sub(r"\1***", line.rstrip("\r\n")) for line in lines)
