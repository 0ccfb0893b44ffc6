"""Files that a registry gave, on this machine: whole or not at all, and never outside the folder that was named.

What a skill's files are called was written by whoever can push to a repository. Everything is written into a new folder
that only then takes its place, so that no link and no file that was there before is ever written through.
"""

import os
import re
import secrets
import shutil
import stat
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from registry.cli.outcome import Misused, No
from registry.cli.remote import Remote
from registry.cli.terminal import shown
from registry.digest import digest_of, is_digest
from registry.playbook.companions import COMPANION_BYTES_MAX, COMPANIONS_MAX, Companion

SKILL_FILE = "SKILL.md"
SEGMENT_BYTES_MAX = 255
FOLDER_MODE = 0o755

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHORT_GIT = re.compile(r"git~\d+")


def companions_of(entry: dict[str, Any]) -> tuple[Companion, ...]:
    """The other files of a skill, as an entry with its contract lists them. Raises No for a list that cannot be."""
    contract = entry.get("contract")
    listed = contract.get("files", []) if isinstance(contract, dict) else []
    rows = listed if isinstance(listed, list) else [None]
    files = [
        Companion(str(row.get("path")), str(row.get("digest")), _size(row)) for row in rows if isinstance(row, dict)
    ]
    if len(files) != len(rows) or any(each.size < 0 or not is_digest(each.sha256) for each in files):
        raise No("the skill's list of files makes no sense, so none of it is written.")
    if len(files) > COMPANIONS_MAX or sum(each.size for each in files) > COMPANION_BYTES_MAX:
        raise No(f"the skill has more than {COMPANIONS_MAX} other files or {COMPANION_BYTES_MAX >> 20} MiB in them.")
    return tuple(files)


def save_skill(
    parent: Path, name: str, skill: bytes, files: Sequence[Companion], remote: Remote, *, replace: bool
) -> Path:
    """The folder `parent`/`name` with the skill in it, made anew. Raises Misused where it is there, and No.

    Each file is fetched by its digest and checked; one that would lie elsewhere than below the folder is refused.
    """
    if parent.exists() and not parent.is_dir():
        raise Misused(f"{shown(parent)} is a file: give the folder that the skill's own is made in.")
    target = parent / name
    _require_free(target, replace=replace)
    paths = [_inside(each.path) for each in files]
    with _writing(target):
        parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=parent))
        try:
            (made / SKILL_FILE).write_bytes(skill)
            for file, path in zip(files, paths, strict=True):
                place = made / path
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as stream:
                    stream.write(_fetched(remote, file))
            made.chmod(FOLDER_MODE)
            _take_place(made, target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return target


def save_file(place: Path, body: bytes, *, replace: bool) -> None:
    """Write one file. Raises Misused where there is something already, unless it is a file and to be replaced."""
    if not replace:
        with _writing(place), place.open("xb") as stream:
            stream.write(body)
        return
    if place.is_dir() and not place.is_symlink():
        raise Misused(f"{shown(place)} is a folder: give the name of a file.")
    beside = place.with_name(f".{place.name[:100]}.{secrets.token_hex(6)}")
    with _writing(place):
        try:
            with beside.open("xb") as stream:
                stream.write(body)
            beside.replace(place)
        finally:
            beside.unlink(missing_ok=True)


def base_name(path: str) -> str:
    """The last part of a file's path in its repository, as a name for a file here. Raises No for one that is none."""
    return _segment(path.rpartition("/")[2], path)


def _inside(path: str) -> Path:
    """A skill's file as a path below the skill's folder. Raises No for any other."""
    if len(os.fsencode(path)) > SEGMENT_BYTES_MAX * 16:
        raise No("a file of the skill has a path that is far too long.")
    return Path(*(_segment(part, path) for part in path.split("/")))


def _segment(part: str, path: str) -> str:
    if part in {"", ".", ".."} or "\\" in part or _CONTROL.search(part) or _is_git(part):
        raise No(f"{shown(path)} is no path that is written here: look into the repository that it comes from.")
    if len(part.encode("utf-8", "surrogatepass")) > SEGMENT_BYTES_MAX:
        raise No(f"{shown(path[:80])}… has a name that is too long for a file.")
    return part


def _is_git(part: str) -> bool:
    """Whether some file system takes the name for `.git`, whose files git would run programs by."""
    seen = "".join(each for each in part if unicodedata.category(each) != "Cf")
    folded = unicodedata.normalize("NFKC", seen).casefold().rstrip(". ")
    return folded == ".git" or _SHORT_GIT.fullmatch(folded) is not None


def _size(row: dict[str, Any]) -> int:
    size = row.get("size")
    return size if isinstance(size, int) else -1


def _fetched(remote: Remote, file: Companion) -> bytes:
    data = remote.get(f"/v1/blobs/{file.sha256}").body
    if len(data) != file.size or digest_of(data) != file.sha256:
        raise No(f"{shown(file.path)} did not come as the registry lists it: try again, and look for a proxy between.")
    return data


def _require_free(target: Path, *, replace: bool) -> None:
    try:
        mode = target.lstat().st_mode
    except OSError:
        return
    if not replace:
        raise Misused(f"{shown(target)} is there already: --force replaces it.")
    if not stat.S_ISDIR(mode):
        raise Misused(f"{shown(target)} is no folder, and is not replaced by one: move it away first.")


def _take_place(made: Path, target: Path) -> None:
    """Put the new folder where the old one is, if there is one; at no moment is there half of one."""
    old = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    had = target.is_dir()
    if had:
        target.rename(old)
    try:
        made.rename(target)
    except OSError:
        if had:
            old.rename(target)
        raise
    if had:
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        if Path(str(error.filename)) == place:
            raise Misused(f"{shown(place)} is there already: --force replaces it.") from None
        raise No(f"two files of the skill have one name on this machine ({shown(error.filename)}).") from None
    except FileNotFoundError:
        raise Misused(f"{shown(place.parent)} is not there: make the folder first.") from None
    except OSError as error:
        raise Misused(f"{shown(place)} cannot be written: {error.strerror or error}.") from None
