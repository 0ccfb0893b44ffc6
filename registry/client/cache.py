"""What a host keeps on disk: bytes by their digest, and for each repository which of them it had last.

Everything here can be lost at any time. Bytes are checked against their digest whenever they are read, and written
aside and renamed, so that a reader never sees half a file; a folder that cannot be written to costs only time.
"""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from registry.digest import digest_of, is_digest

Kind = Literal["snapshots", "documents"]

KEEP_DAYS: Final = 30
"""Bytes that nobody used for so long are deleted."""
FILE_BYTES_MAX: Final = 64 * 1024 * 1024
_DAY_S: Final = 86_400
_SWEPT: Final = "swept"


def default_folder(environment: Mapping[str, str]) -> Path:
    """Where a user's cache is: REGISTRY_CACHE_DIR, else below XDG_CACHE_HOME, else below the home folder."""
    if chosen := environment.get("REGISTRY_CACHE_DIR"):
        return Path(chosen)
    base = environment.get("XDG_CACHE_HOME", "")
    # The XDG rules say that a relative path there is to be ignored.
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "playbook-registry"


class DiskCache:
    """The cache below `folder`, for its user alone (mode 0700); for any number of processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, kind: Kind, digest: str) -> bytes | None:
        """The bytes that `digest` names, or None; bytes that are not these are deleted."""
        if not is_digest(digest):
            return None
        place = self._place(kind, digest)
        data = _read(place)
        if data is None:
            return None
        if digest_of(data) != digest:
            with contextlib.suppress(OSError):
                place.unlink()
            return None
        _touch(place)
        return data

    def write(self, kind: Kind, digest: str, data: bytes) -> None:
        """Keep bytes that were checked against their digest."""
        self._write(self._place(kind, digest), data)

    def read_record(self, name: str) -> dict[str, Any] | None:
        """A record: an object that was kept under that name, or None."""
        data = _read(self._record(name))
        try:
            value = None if data is None else json.loads(data)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def write_record(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep a record; once a day what was not used for KEEP_DAYS is deleted."""
        self._write(self._record(name), json.dumps(value, ensure_ascii=False).encode())
        self._sweep()

    def _place(self, kind: Kind, digest: str) -> Path:
        return self._folder / kind / digest.removeprefix("sha256:")

    def _record(self, name: str) -> Path:
        return self._folder / "records" / f"{hashlib.sha256(name.encode()).hexdigest()}.json"

    def _write(self, place: Path, data: bytes) -> None:
        aside = place.with_name(f".{place.name}.{os.getpid()}.{time.monotonic_ns()}")
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.parent.mkdir(mode=0o700, exist_ok=True)
            try:
                with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:  # noqa: PTH123
                    file.write(data)
                aside.replace(place)
            except OSError:
                aside.unlink(missing_ok=True)

    def _sweep(self) -> None:
        mark = self._folder / _SWEPT
        now = time.time()
        with contextlib.suppress(OSError):
            if mark.exists() and now - mark.stat().st_mtime < _DAY_S:
                return
            mark.touch(mode=0o600)
            for kept in self._folder.glob("*/*"):
                with contextlib.suppress(OSError):
                    if now - kept.stat().st_mtime > KEEP_DAYS * _DAY_S:
                        kept.unlink()


def _read(place: Path) -> bytes | None:
    try:
        with place.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError:
        return None
    return data if len(data) <= FILE_BYTES_MAX else None


def _touch(place: Path) -> None:
    """Note that a file was used, once a day at most."""
    with contextlib.suppress(OSError):
        if time.time() - place.stat().st_mtime > _DAY_S:
            os.utime(place)
