"""The working copy of a host: what its author changed in it, as copies that an overlay can decide on.

The loader is what costs here, so it runs only where a file differs from what the snapshot pins; that is told by the
files' hashes, which are taken again only where a file's size or time changed.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from registry.client.snapshot import Entry, Snapshot
from registry.digest import digest_of
from registry.errors import SourceFault
from registry.git import worktree
from registry.git.checkout import Checkout, changed_since, head_of
from registry.git.walk import WalkLimits
from registry.playbook.roots import Roots

FILE_BYTES_MAX: Final = 16 * 1024 * 1024
FILES_MAX: Final = 20_000
_UPSTREAM: Final = ("@{upstream}", "refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master")
_SKILL: Final = "skill/1"

Contracts = Callable[[str], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Changed:
    """What an author changed: name -> the copy in the tree (None: deleted), and the documents that the copies pin."""

    copies: Mapping[str, Any] = field(default_factory=dict)
    documents: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


NOTHING: Final = Changed()


class WorkingTree:
    """The playbooks of one working copy, read again when its files change. For one thread at a time."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout = checkout
        self._hashes: dict[str, tuple[tuple[int, int, int], str]] = {}

    def fingerprint(self, roots: Roots) -> str:
        """What is checked out, and what lies in the playbook folders, by path, size and time.

        While it stays, nothing was changed.
        """
        self.checkout = replace(self.checkout, head=head_of(self.checkout.root))
        sha = hashlib.sha256(str(self.checkout.head).encode())
        for path, facts in self._files(roots):
            # As bytes: a file's name need not be text.
            sha.update(b"\0%s\0%d %d %d" % (os.fsencode(path), *facts))
        return sha.hexdigest()

    def hashed(self, roots: Roots) -> dict[str, str]:
        """Path -> sha256 of each file in the playbook folders."""
        kept, self._hashes = self._hashes, {}
        for path, facts in self._files(roots):
            known = kept.get(path)
            self._hashes[path] = known if known is not None and known[0] == facts else (facts, self._hash(path))
        return {path: sha for path, (_, sha) in self._hashes.items()}

    def changed(self, snapshot: Snapshot, roots: Roots, repository: str, contracts: Contracts) -> Changed:
        """What the author changed since the copy branched off from what `snapshot` serves.

        Where git cannot tell, whatever differs counts, and a file that is not there does not count as deleted.
        """
        is_central = repository == snapshot.central
        served = list(_served(snapshot, central=is_central))
        hashes = self.hashed(roots)
        if _is_same(served, hashes, roots, contracts):
            return NOTHING
        commits = [_commit(snapshot, central=is_central), *_UPSTREAM]
        touched = changed_since(self.checkout.root, commits, roots.folders())
        if touched is not None and not touched:
            return NOTHING
        return self._read(snapshot, served, roots, repository, touched)

    def _read(
        self,
        snapshot: Snapshot,
        served: Sequence[Entry],
        roots: Roots,
        repository: str,
        touched: frozenset[str] | None,
    ) -> Changed:
        # The loader, and all that it brings along: see above.
        from registry.git.folder import NO_COMMIT, WorkingCopy  # noqa: PLC0415
        from registry.ports import Role  # noqa: PLC0415
        from registry.sync.readings import ReadingCache  # noqa: PLC0415
        from registry.sync.source import SourcePlan, read_source  # noqa: PLC0415

        source = WorkingCopy(self.checkout.root, self.checkout.head or NO_COMMIT)
        role = Role.CENTRAL if repository == snapshot.central else Role.SERVICE
        plan = SourcePlan(repository, role, roots, None)
        try:
            read = read_source(source, source.poll(), plan, None, ReadingCache())
        except SourceFault as fault:
            return Changed(notes=(f"the working copy cannot be read, so what is served is shown: {fault}",))
        if read is None:
            return NOTHING
        known = {(str(entry["name"]), entry["digest"]) for entry in served}
        # What the registry has and does not serve, a withdrawn copy above all, is no change of the author's either.
        known |= {(str(lost["name"]), copy["digest"]) for lost in snapshot.unavailable for copy in lost["copies"]}
        copies: dict[str, Any] = {}
        for copy in read.revision.copies:
            path = copy.path or (copy.head.source.path if copy.head else "")
            if (copy.name, copy.digest) not in known and _is_touched(path, touched):
                copies[copy.name] = copy
        there = {copy.name for copy in read.revision.copies}
        for entry in served:
            path = entry["source"]["path"]
            if entry["name"] not in there and touched is not None and _is_touched(path, touched):
                copies[str(entry["name"])] = None
        wanted = {copy.digest for copy in copies.values() if copy is not None}
        documents = {digest: body for digest, body in read.documents.items() if digest in wanted}
        return Changed(copies, documents)

    def _files(self, roots: Roots) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """(path, (size, time in ns, inode)) of every file in the folders where playbooks are, sorted by path."""
        limits = WalkLimits(files_max=FILES_MAX)
        root = self.checkout.root
        try:
            listed = worktree.list_files(root, enter=roots.enter, wanted=lambda _: True, limits=limits)
        except SourceFault:
            # Too much beside the playbooks: then only they are looked at.
            listed = worktree.list_files(root, enter=roots.enter, wanted=roots.wanted)
        for file in listed:
            try:
                facts = os.stat(root / file.path)  # noqa: PTH116 - a path that a link may lead out of is not opened here
            except OSError:
                continue
            if stat.S_ISREG(facts.st_mode):
                yield file.path, (facts.st_size, facts.st_mtime_ns, facts.st_ino)

    def _hash(self, path: str) -> str:
        data = worktree.read_file(self.checkout.root, path, FILE_BYTES_MAX)
        return digest_of(data) if isinstance(data, bytes) else ""


def needed_here(snapshot: Snapshot, repository: str | None) -> Iterator[str]:
    """The digests of the documents without which a working copy of `repository` cannot be laid over a snapshot.

    A skill's document says which other files it has; what a local copy goes before serves where that copy is deleted.
    """
    for entry in _served(snapshot, central=repository == snapshot.central):
        if entry["document"] == _SKILL:
            yield entry["digest"]
        yield from (over["digest"] for over in entry["decision"]["over"])


def _served(snapshot: Snapshot, *, central: bool) -> Iterator[Entry]:
    """Every copy of this repository's own that the snapshot pins, whether it serves or not."""
    kind = "central" if central else "local"
    for entry in (*snapshot.entries, *snapshot.refused):
        if entry["source"]["kind"] == kind:
            yield entry


def _commit(snapshot: Snapshot, *, central: bool) -> str | None:
    return snapshot.commit("central" if central else "local")


def _is_same(served: Sequence[Entry], hashes: Mapping[str, str], roots: Roots, contracts: Contracts) -> bool:
    """Whether the tree's playbook files are exactly those that the snapshot pins, their skills' other files too."""
    left = {path for path in hashes if roots.wanted(path)}
    for entry in served:
        path = entry["source"]["path"]
        if entry.get("held") or hashes.get(path) != entry["source"]["blob"]:
            return False
        left.discard(path)
        if entry["document"] == _SKILL and not _has_same_files(path, hashes, contracts(entry["digest"])):
            return False
    return not left


def _has_same_files(path: str, hashes: Mapping[str, str], contract: Mapping[str, Any] | None) -> bool:
    if contract is None:
        return False
    folder = f"{PurePosixPath(path).parent}/"
    skills = (f"{PurePosixPath(other).parent}/" for other in hashes if other.endswith("/SKILL.md"))
    inner = tuple(other for other in skills if other != folder and other.startswith(folder))
    there = {
        other.removeprefix(folder): digest
        for other, digest in hashes.items()
        if other != path and other.startswith(folder) and not other.startswith(inner)
    }
    return there == {each["path"]: each["digest"] for each in contract.get("files") or ()}


def _is_touched(path: str, touched: frozenset[str] | None) -> bool:
    """Whether the author changed the file at `path`, or a file in its folder if it is a skill."""
    if touched is None or path in touched:
        return True
    folder = Path(path).parent.as_posix() + "/"
    return Path(path).name == "SKILL.md" and any(each.startswith(folder) for each in touched)
