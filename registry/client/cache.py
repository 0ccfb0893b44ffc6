"""What a host keeps on disk: bytes by their digest, and for each repository which of them it had last.

Everything here can be lost at any time. Bytes are checked against their digest whenever they are read, and written
aside and renamed, so that a reader never sees half a file; a folder that cannot be written to costs only time.
"""

import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from registry.client.wire import read_object
from registry.digest import digest_of, is_digest

Kind = Literal["snapshots", "documents"]

KEEP_DAYS: Final = 30
"""Bytes that nobody used for so long are deleted."""
FILE_BYTES_MAX: Final = 64 * 1024 * 1024
_DAY_S: Final = 86_400
_SWEPT: Final = "swept"


def default_folder(environment: Mapping[str, str]) -> Path | None:
    """Where a user's cache is: REGISTRY_CACHE_DIR, else below XDG_CACHE_HOME, else below the home folder.

    None for a user who has no home; a path that is not absolute would be another one in every folder.
    """
    if chosen := environment.get("REGISTRY_CACHE_DIR"):
        return Path(chosen)
    base = environment.get("XDG_CACHE_HOME", "")
    # The XDG rules say that a relative path there is to be ignored.
    if not base.startswith("/"):
        home = environment.get("HOME") or _home_by_id()
        if not home.startswith("/"):
            return None
        base = f"{home}/.cache"
    return Path(base) / "playbook-registry"


class DiskCache:
    """The cache below `folder`, for its user alone (mode 0700); for any number of processes and threads at once.

    Without a folder, and where it cannot be read or written, nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        # Not another folder once somebody changes the current one.
        self._folder = None if folder is None else _absolute(folder)

    def close(self) -> None:
        """Keep nothing from now on, so that the folder can be removed."""
        self._folder = None

    def read(self, kind: Kind, digest: str) -> bytes | None:
        """The bytes that `digest` names, or None; bytes that are not these are deleted."""
        place = self._place(kind, digest)
        data = None if place is None else _read(place)
        if place is None or data is None:
            return None
        if digest_of(data) != digest:
            with contextlib.suppress(OSError):
                place.unlink()
            return None
        _touch(place)
        return data

    def write(self, kind: Kind, digest: str, data: bytes) -> None:
        """Keep bytes that were checked against their digest, unless another process has kept them already."""
        place = self._place(kind, digest)
        if place is not None and not _is_there(place):
            self._write(place, data)

    def read_record(self, name: str) -> dict[str, Any] | None:
        """A record: an object that was kept under that name, or None."""
        place = self._record(name)
        data = None if place is None else _read(place)
        try:
            return None if data is None else read_object(data)
        except ValueError:
            return None

    def write_record(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep a record; once a day what was not used for KEEP_DAYS is deleted."""
        place = self._record(name)
        if place is not None:
            # With escapes, so that the name of a file that is no UTF-8 can be kept too.
            self._write(place, json.dumps(value).encode())
            self._sweep(place.parent.parent)

    def _place(self, kind: Kind, digest: str) -> Path | None:
        folder = self._folder
        if folder is None or not is_digest(digest):
            return None
        return folder / kind / digest.removeprefix("sha256:")

    def _record(self, name: str) -> Path | None:
        folder = self._folder
        if folder is None:
            return None
        return folder / "records" / f"{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}.json"

    def _write(self, place: Path, data: bytes) -> None:
        aside = place.with_name(f".{place.name[:16]}.{os.getpid()}.{os.urandom(8).hex()}")
        with contextlib.suppress(OSError):
            place.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:  # noqa: PTH123
                    file.write(data)
                aside.replace(place)
            except OSError:
                aside.unlink(missing_ok=True)

    def _sweep(self, folder: Path) -> None:
        mark = folder / _SWEPT
        now = time.time()
        with contextlib.suppress(OSError):
            if mark.exists() and now - mark.stat().st_mtime < _DAY_S:
                return
            mark.touch(mode=0o600)
            for kept in folder.glob("*/*"):
                with contextlib.suppress(OSError):
                    if now - kept.stat().st_mtime > KEEP_DAYS * _DAY_S:
                        kept.unlink()


def _home_by_id() -> str:
    import pwd  # noqa: PLC0415 - only where the environment does not say it

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""  # A container's user, who stands in no list.


def _absolute(folder: Path) -> Path | None:
    try:
        return folder.absolute()
    except OSError:
        return None  # Relative to a folder that is not there any more.


def _read(place: Path) -> bytes | None:
    try:
        # What is no file must not be waited for.
        with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            data = file.read(FILE_BYTES_MAX + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None
    return data if data is not None and len(data) <= FILE_BYTES_MAX else None


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:
        return False


def _touch(place: Path) -> None:
    """Note that a file was used, once a day at most."""
    with contextlib.suppress(OSError):
        if time.time() - place.stat().st_mtime > _DAY_S:
            os.utime(place)
