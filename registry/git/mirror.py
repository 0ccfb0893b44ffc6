"""Mirrors: the bare repositories that hold what was fetched of a (remote, tracked ref), and how they stay healthy.

Whatever goes wrong, the repository in use is left alone until a better one is complete: a broken or worn mirror is
cloned into a new path and the pointer switched, because libgit2 remembers bad packs by their path (git.md, What goes
wrong). One user at a time; losing a mirror loses nothing but the time to clone it.
"""

import hashlib
import re
import secrets
import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from registry.errors import BranchMissing, Corrupt, DiskFull, SourceFault, Unreachable
from registry.git.bare import FILTER, TRACKED_REF, create_bare, has_commit, pack_count, sweep
from registry.git.child import ChildSettings, DeadlineMissed, run_git
from registry.git.pktline import is_object_id
from registry.git.pointer import POINTER_NAME, MirrorPointer, read_pointer, write_pointer
from registry.git.remote import Remote
from registry.git.tree import TreeReader

HYDRATE_BATCH = 5_000

_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no")
_REFUSED_ID = re.compile(r"not our ref|unadvertised object|couldn't find remote ref|no such ref", re.IGNORECASE)
_REFUSED_FILTER = re.compile(r"\bfilter\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MirrorLimits:
    """When a mirror gives up, and when it is made anew.

    `fetch_s` and `clone_s` are doubled after each deadline missed, `patience_max` times at most.
    """

    free_bytes_min: int = 512 * 1024 * 1024
    fetch_s: float = 60.0
    clone_s: float = 600.0
    patience_max: int = 3
    fetches_max: int = 200
    packs_max: int = 50


class Mirror:
    """What is held of one (remote, tracked ref).

    `slim` holds one commit without its blobs, which are fetched by id when they are wanted; otherwise the whole
    history of the ref. `tracked` is the ref as it was registered (None: the remote's HEAD).
    """

    def __init__(
        self,
        root: Path,
        remote: Remote,
        *,
        slim: bool,
        tracked: str | None = None,
        settings: ChildSettings | None = None,
        limits: MirrorLimits | None = None,
    ) -> None:
        kind = "slim" if slim else "full"
        name = hashlib.sha256("\0".join((remote.url, tracked or "", kind)).encode()).hexdigest()[:32]
        self.folder = root / name
        self._remote = remote
        self._slim = slim
        self._settings = settings or ChildSettings()
        self._limits = limits or MirrorLimits()

    def fetch(self, ref: str, commit: str) -> None:
        """Hold `commit`, which `ref` was seen at, so that `read(commit)` works; a commit that is held costs nothing.

        Raises SourceFault: DiskFull before anything is written, BranchMissing where the ref went away meanwhile,
        Unreachable where it moved on (the next poll sees the new commit). What was held before stays readable.
        """
        if not is_object_id(commit):
            raise Unreachable(f"{commit[:80]!r} is not the id of a commit.")
        self.folder.mkdir(parents=True, exist_ok=True)
        pointer = read_pointer(self.folder)
        self._collect(pointer)
        current = self._current(pointer)
        if current and pointer.commit == commit and has_commit(current, commit):
            return
        self._require_space()
        try:
            if not (current and self._refresh(current, pointer, ref, commit)):
                self._clone(pointer, ref, commit)
        except DeadlineMissed:
            patience = min(pointer.patience + 1, self._limits.patience_max)
            write_pointer(self.folder, replace(pointer, patience=patience))
            raise

    def read(self, commit: str) -> TreeReader:
        """A reader of `commit`, which was fetched before, for one job in one thread; raises Corrupt."""
        pointer = read_pointer(self.folder)
        if pointer.generation is None:
            raise Corrupt("there is no mirror yet: fetch first.")
        return TreeReader(self.folder / pointer.generation, commit, self, slim=self._slim)

    def hydrate(self, blob_ids: Collection[str]) -> None:
        """Fetch these blobs by id; raises SourceFault.

        A server that does not serve objects by id makes the mirror fetch whole commits from its next fetch on.
        """
        folder, pointer = self._in_use()
        self._require_space()
        ids = sorted(blob_ids)
        for start in range(0, len(ids), HYDRATE_BATCH):
            words = "".join(f"{blob_id}\n" for blob_id in ids[start : start + HYDRATE_BATCH])
            extent = f"--filter={FILTER}" if pointer.filtered else "--no-filter"
            args = ["-c", "fetch.negotiationAlgorithm=noop", *_FETCH, extent, "--stdin", "origin"]
            try:
                self._run(args, folder, self._limits.fetch_s * 2**pointer.patience, words.encode("ascii"))
            except (Unreachable, BranchMissing) as fault:
                if not _REFUSED_ID.search(fault.detail):
                    raise
                write_pointer(self.folder, replace(pointer, sound=False, filtered=False))
                raise Corrupt("the server does not serve single objects: whole commits are fetched next.") from fault

    def deepen(self, commit: str, depth: int) -> bool:
        """Whether up to `depth` commits of the history of `commit` are now held; False where the server refuses."""
        if not self._slim:
            return False
        folder, pointer = self._in_use()
        self._require_space()
        args = [*_FETCH, *self._depth(depth, filtered=pointer.filtered), "origin", commit]
        try:
            self._run(args, folder, self._limits.fetch_s * 2**pointer.patience)
        except (Unreachable, BranchMissing) as fault:
            if _REFUSED_ID.search(fault.detail):
                return False
            raise
        return True

    def distrust(self) -> None:
        """Note that objects could not be read: the next fetch clones anew, even of the same commit."""
        pointer = read_pointer(self.folder)
        if pointer.generation is not None and pointer.sound:
            write_pointer(self.folder, replace(pointer, sound=False))

    def delete(self) -> None:
        """Remove everything of this mirror from the disk."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _current(self, pointer: MirrorPointer) -> Path | None:
        if pointer.generation is None or not pointer.sound:
            return None
        folder = self.folder / pointer.generation
        if not folder.is_dir() or (pointer.commit and not has_commit(folder, pointer.commit)):
            return None
        return folder

    def _in_use(self) -> tuple[Path, MirrorPointer]:
        pointer = read_pointer(self.folder)
        if pointer.generation is None:
            raise Corrupt("there is no mirror yet: fetch first.")
        return self.folder / pointer.generation, pointer

    def _is_worn(self, folder: Path, pointer: MirrorPointer) -> bool:
        return pointer.fetches >= self._limits.fetches_max or pack_count(folder) >= self._limits.packs_max

    def _refresh(self, folder: Path, pointer: MirrorPointer, ref: str, commit: str) -> bool:
        """Whether the repository in use now holds `commit`; False where it is worn or broken."""
        if self._is_worn(folder, pointer):
            return False
        sweep(folder)
        deadline_s = self._limits.fetch_s * 2**pointer.patience
        try:
            self._fetch_into(folder, ref, commit, deadline_s, filtered=pointer.filtered)
        except Corrupt:
            return False
        except SourceFault as fault:
            if _REFUSED_FILTER.search(fault.detail):
                return False
            raise
        done = replace(pointer, commit=commit, previous=None, fetches=pointer.fetches + 1, patience=0)
        write_pointer(self.folder, done)
        return True

    def _clone(self, pointer: MirrorPointer, ref: str, commit: str) -> None:
        filtered = self._slim and pointer.filtered
        try:
            name = self._clone_once(pointer, ref, commit, filtered=filtered)
        except SourceFault as fault:
            if not (filtered and _REFUSED_FILTER.search(fault.detail)):
                raise
            filtered = False
            name = self._clone_once(pointer, ref, commit, filtered=False)
        write_pointer(self.folder, MirrorPointer(name, pointer.generation, commit, filtered=filtered or not self._slim))

    def _clone_once(self, pointer: MirrorPointer, ref: str, commit: str, *, filtered: bool) -> str:
        name = f"g-{secrets.token_hex(8)}"
        folder = self.folder / name
        base_s = self._limits.fetch_s if self._slim else self._limits.clone_s
        try:
            create_bare(folder, self._remote.url, filtered=filtered)
            self._fetch_into(folder, ref, commit, base_s * 2**pointer.patience, filtered=filtered)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return name

    def _fetch_into(self, folder: Path, ref: str, commit: str, deadline_s: float, *, filtered: bool) -> None:
        extent = self._depth(1, filtered=filtered) if self._slim else ["--update-shallow"]
        try:
            # By id first: exactly what was seen, even when the ref has moved since.
            self._run([*_FETCH, *extent, "origin", f"+{commit}:{TRACKED_REF}"], folder, deadline_s)
        except (Unreachable, BranchMissing) as fault:
            if not _REFUSED_ID.search(fault.detail):
                raise
            self._run([*_FETCH, *extent, "origin", f"+{ref}:{TRACKED_REF}"], folder, deadline_s)
            if not has_commit(folder, commit):
                raise Unreachable(f"{ref} moved on from {commit} while it was fetched.") from fault
        if not has_commit(folder, commit):
            raise Corrupt(f"{commit} did not arrive whole, or is not a commit.")

    def _depth(self, depth: int, *, filtered: bool) -> list[str]:
        return [f"--depth={depth}", f"--filter={FILTER}" if filtered else "--no-filter"]

    def _run(self, args: list[str], folder: Path, deadline_s: float, stdin: bytes | None = None) -> None:
        run_git(
            args,
            cwd=folder,
            deadline_s=deadline_s,
            allow=(self._remote.scheme,),
            stdin=stdin,
            settings=self._settings,
        )

    def _require_space(self) -> None:
        free_bytes = shutil.disk_usage(self.folder).free
        if free_bytes < self._limits.free_bytes_min:
            free, floor = free_bytes // 2**20, self._limits.free_bytes_min // 2**20
            raise DiskFull(f"{free} MiB are free where mirrors are kept, and {floor} MiB must stay free: make room.")

    def _collect(self, pointer: MirrorPointer) -> None:
        keep = {pointer.generation, pointer.previous}
        for entry in self.folder.iterdir():
            if entry.is_dir() and entry.name not in keep:
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.is_file() and entry.name != POINTER_NAME:
                entry.unlink(missing_ok=True)
