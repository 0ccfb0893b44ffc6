"""Walks and links: which paths below a root are wanted, the same for a commit's tree and for a working copy.

Iterative and bounded, because a tree of a few objects can spell a billion paths (git.md, What goes wrong). A symlink
is followed inside its tree and never out of it, 8 hops at most (playbook-format.md, Reading hostile or sloppy files).
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from registry.errors import SourceTooLarge

Kind = Literal["file", "symlink", "submodule", "path-not-utf8"]
Predicate = Callable[[str], bool]

HOPS_MAX = 8
LINK_BYTES_MAX = 4096
BLOB_BYTES_MAX = 1024 * 1024
PARTS_MAX = 4096

EntryKind = Literal["folder", "file", "symlink", "submodule", "other"]

_NEVER_ENTERED = {b"", b".", b"..", b".git"}


@dataclass(frozen=True, slots=True)
class TreeFile:
    """One entry that was wanted; `path` is relative to the root, with backslash escapes where it is not UTF-8.

    `blob_id` is the content: of a symlink the file that it leads to (its own text where it leads nowhere), of a
    submodule its commit; a working copy has paths there. `target` is the file's own path inside the tree where `path`
    leads to it through a symlink, be it the last part or a folder above; None where no link is in `path`, or where it
    leads to nothing that can be read. `size` is in bytes, where it is known without a fetch.
    """

    path: str
    blob_id: str
    kind: Kind = "file"
    size: int | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Oversize:
    """In place of a file's bytes: it is larger than was asked for."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """How far a walk goes before it gives up with SourceTooLarge."""

    entries_max: int = 250_000
    depth_max: int = 64
    path_bytes_max: int = 1024
    files_max: int = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder; `id` is what the listing reads it by."""

    name: bytes
    kind: EntryKind
    id: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Where a path leads once its links are followed."""

    path: str
    entry: Entry


class Listing(Protocol):
    """A tree of folders, wherever it lies."""

    def root(self) -> str:
        """The id of the topmost folder."""
        ...

    def entries(self, folder_id: str) -> Iterator[Entry]:
        """What a folder holds."""
        ...

    def entry(self, folder_id: str, name: str) -> Entry | None:
        """One name in a folder."""
        ...

    def link_text(self, link_id: str) -> bytes:
        """Where a symlink points, cut off after LINK_BYTES_MAX + 1 bytes."""
        ...

    def prefetch(self, link_ids: Collection[str]) -> None:
        """Bring the texts of these links near, all at once."""
        ...


def find(listing: Listing, path: str) -> Found | None:
    """What `path` leads to, each link in it followed; None for nothing, a loop, or a way out of the tree."""
    folders, names = [listing.root()], list[str]()
    parts = deque(path.split("/"))
    last: Entry | None = None
    hops = 0
    while parts:
        part = parts.popleft()
        if part in {"", "."}:
            continue
        if last is not None or (part == ".." and not names):
            return None
        if part == "..":
            folders.pop()
            names.pop()
            continue
        entry = listing.entry(folders[-1], part)
        if entry is None or entry.kind == "other":
            return None
        if entry.kind == "symlink":
            hops += 1
            onward = _target_parts(listing.link_text(entry.id))
            if onward is None or hops > HOPS_MAX or len(parts) + len(onward) > PARTS_MAX:
                return None
            parts.extendleft(reversed(onward))
            continue
        names.append(part)
        if entry.kind == "folder":
            folders.append(entry.id)
        else:
            last = entry
    return Found("/".join(names), last or Entry(b"", "folder", folders[-1]))


def list_wanted(listing: Listing, *, enter: Predicate, wanted: Predicate, limits: WalkLimits) -> tuple[TreeFile, ...]:
    """The entries that `wanted(path)` says yes to, below folders that `enter(path)` says yes to, sorted by path.

    A symlink to a folder is walked under its own path, unless it leads back up its own path; one to a file is listed
    as `symlink`, as is one that leads nowhere. Submodules, and paths that are not UTF-8, are listed and not entered.
    Raises SourceTooLarge.
    """
    walk = _Walk(listing, enter, wanted, limits)
    walk.pending.append(_Folder("", listing.root(), 0, 0, (listing.root(),), ""))
    while walk.pending:
        while walk.pending:
            walk.visit(walk.pending.popleft())
        walk.follow_links()
    return tuple(sorted(walk.files, key=lambda file: file.path))


def _target_parts(text: bytes) -> list[str] | None:
    if not text or len(text) > LINK_BYTES_MAX or text.startswith(b"/") or b"\x00" in text:
        return None
    try:
        return text.decode("utf-8").split("/")
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    id: str
    depth: int
    hops: int
    above: tuple[str, ...]
    own_path: str
    """Where the folder itself stands; another path than `path` below a link."""


class _Walk:
    def __init__(self, listing: Listing, enter: Predicate, wanted: Predicate, limits: WalkLimits) -> None:
        self.files: list[TreeFile] = []
        self.pending: deque[_Folder] = deque()
        self._links: list[tuple[str, Entry, _Folder]] = []
        self._listing = listing
        self._enter = enter
        self._wanted = wanted
        self._limits = limits
        self._visited = 0

    def visit(self, folder: _Folder) -> None:
        if folder.depth > self._limits.depth_max:
            raise SourceTooLarge(f"{folder.path[:80]}… is more than {self._limits.depth_max} folders deep.")
        names = set[bytes]()
        for entry in self._listing.entries(folder.id):
            self._visited += 1
            if self._visited > self._limits.entries_max:
                raise SourceTooLarge(
                    f"more than {self._limits.entries_max} entries in the folders that may hold playbooks: "
                    "narrow the registration's paths."
                )
            # Names that git itself would refuse; a second entry of one name could show two faces.
            if entry.name.lower() in _NEVER_ENTERED or b"/" in entry.name or entry.name in names:
                continue
            names.add(entry.name)
            self._sort_in(folder, entry)

    def _sort_in(self, folder: _Folder, entry: Entry) -> None:
        name, plain = _shown(entry.name)
        path = _joined(folder.path, name)
        own_path = _joined(folder.own_path, name)
        target = own_path if own_path != path else None
        if len(path.encode()) > self._limits.path_bytes_max:
            raise SourceTooLarge(f"{path[:80]}… is longer than {self._limits.path_bytes_max} bytes.")
        enterable = entry.kind in {"folder", "submodule", "symlink"} and self._enter(path)
        listable = entry.kind in {"file", "submodule", "symlink"} and self._wanted(path)
        if not (enterable or listable):
            return
        if not plain:
            self._add(TreeFile(path, entry.id, "path-not-utf8", entry.size, target))
        elif entry.kind == "folder":
            above = (*folder.above, entry.id)
            self.pending.append(_Folder(path, entry.id, folder.depth + 1, folder.hops, above, own_path))
        elif entry.kind == "symlink":
            self._links.append((path, entry, folder))
        elif entry.kind == "submodule":
            self._add(TreeFile(path, entry.id, "submodule", target=target))
        else:
            self._add(TreeFile(path, entry.id, "file", entry.size, target))

    def follow_links(self) -> None:
        links, self._links = self._links, []
        if links:
            self._listing.prefetch([entry.id for _, entry, _ in links])
        for path, entry, folder in links:
            found = find(self._listing, path)
            if found is None:
                self._add(TreeFile(path, entry.id, "symlink"))
            elif found.entry.kind == "folder":
                self._walk_linked(path, found, folder)
            elif found.entry.kind == "submodule":
                self._add(TreeFile(path, found.entry.id, "submodule", target=found.path))
            elif self._wanted(path):
                self._add(TreeFile(path, found.entry.id, "symlink", found.entry.size, found.path))

    def _walk_linked(self, path: str, found: Found, folder: _Folder) -> None:
        folder_id = found.entry.id
        if self._enter(path) and folder_id not in folder.above and folder.hops < HOPS_MAX:
            above = (*folder.above, folder_id)
            self.pending.append(_Folder(path, folder_id, folder.depth + 1, folder.hops + 1, above, found.path))

    def _add(self, file: TreeFile) -> None:
        if len(self.files) >= self._limits.files_max:
            raise SourceTooLarge(f"more than {self._limits.files_max} files match: narrow the registration's paths.")
        self.files.append(file)


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _shown(name: bytes) -> tuple[str, bool]:
    try:
        return name.decode("utf-8"), True
    except UnicodeDecodeError:
        return name.decode("utf-8", "backslashreplace"), False
