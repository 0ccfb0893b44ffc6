"""Trees: what one commit holds, read with libgit2 from a mirror and never from the network by itself."""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain, islice, repeat
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import pygit2
from pygit2.enums import FileMode, ObjectType

from registry.errors import Corrupt, SourceFault
from registry.git.bare import UNREADABLE, open_repository
from registry.git.contents import Child, contents
from registry.git.walk import (
    BLOB_BYTES_MAX,
    LINK_BYTES_MAX,
    Entry,
    EntryKind,
    Oversize,
    Predicate,
    TreeFile,
    WalkLimits,
    find,
    list_wanted,
)

HISTORY_COMMITS_MAX = 100
HYDRATE_AHEAD = 8
DEEPEN_FIRST = 20

_KINDS: dict[int, EntryKind] = {
    FileMode.TREE: "folder",
    FileMode.BLOB: "file",
    FileMode.BLOB_EXECUTABLE: "file",
    FileMode.LINK: "symlink",
    FileMode.COMMIT: "submodule",
}


class Source(Protocol):
    """Where a reader gets what a slim mirror has left out."""

    def hydrate(self, blob_ids: Collection[str]) -> None:
        """Fetch these blobs."""
        ...

    def deepen(self, commit: str, depth: int) -> bool:
        """Whether the history of `commit` may now be longer, up to `depth` commits."""
        ...

    def distrust(self) -> None:
        """Note that objects could not be read, so that the next fetch makes the mirror anew."""
        ...


class TreeReader:
    """Reads one commit of one mirror. For one job in one thread: libgit2's repository is not shared.

    Raises Corrupt for objects that are missing or broken; the mirror is then made anew by its next fetch.
    """

    def __init__(self, folder: Path, commit: str, source: Source, *, slim: bool) -> None:
        self.commit = commit
        self._folder = folder
        self._source = source
        self._slim = slim
        self._depth = 0
        try:
            self._repository = open_repository(folder)
        except Corrupt:
            source.distrust()
            raise
        self._root_id = self._tree_id_of(commit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Release the mirror's files; nothing can be read afterwards.

        libgit2's repository is part of a reference cycle, and would keep its packs mapped until a garbage collection.
        """
        if repository := getattr(self, "_repository", None):
            repository.free()

    def list_files(
        self, *, enter: Predicate, wanted: Predicate, limits: WalkLimits | None = None
    ) -> tuple[TreeFile, ...]:
        """The files that `wanted(path)` says yes to, below folders that `enter(path)` says yes to, sorted by path.

        The rules for links, submodules and odd names are those of `walk.list_wanted`. A slim mirror fetches the text
        of links on the way, and knows no sizes. Raises SourceTooLarge.
        """
        files = list_wanted(_GitListing(self, self._root_id), enter=enter, wanted=wanted, limits=limits or WalkLimits())
        return files if self._slim else tuple(self._sized(file) for file in files)

    def tree_id(self, path: str) -> str | None:
        """The id of the folder at `path` ("" for the root), links followed, or None where there is no folder."""
        found = find(_GitListing(self, self._root_id), path)
        return found.entry.id if found and found.entry.kind == "folder" else None

    def resolve_symlink(self, path: str) -> str | None:
        """The path of the file inside the tree that `path` leads to after 8 hops at most, or None."""
        found = find(_GitListing(self, self._root_id), path)
        return found.path if found and found.entry.kind == "file" else None

    def blob_id(self, path: str) -> str | None:
        """The id of the file's content at `path`, links followed, or None where there is no file."""
        return _blob_id(_GitListing(self, self._root_id), path)

    def hydrate(self, blob_ids: Collection[str]) -> None:
        """Fetch those of `blob_ids` that a slim mirror does not hold yet, in one round trip."""
        if not self._slim:
            return
        missing = {blob_id for blob_id in blob_ids if pygit2.Oid(hex=blob_id) not in self._repository}
        if missing:
            self._source.hydrate(sorted(missing))

    def read_blob(self, blob_id: str, max_bytes: int = BLOB_BYTES_MAX) -> bytes | Oversize:
        """The blob's bytes, or Oversize without reading it; in a slim mirror hydrate it first."""
        oid = pygit2.Oid(hex=blob_id)
        try:
            # Reading holds the interpreter's lock, for seconds with a huge blob: its header first.
            kind, size = self._repository.odb.read_header(oid)
            if kind == ObjectType.BLOB:
                return Oversize(size) if size > max_bytes else bytes(self._repository.odb.read(oid)[1])
        except UNREADABLE as error:
            raise self._corrupt(blob_id) from error
        raise self._corrupt(blob_id)

    def history(
        self, path: str, limit: int = HISTORY_COMMITS_MAX, *, max_bytes: int = BLOB_BYTES_MAX
    ) -> Iterator[tuple[str, bytes | Oversize | None]]:
        """(commit, bytes) of each version of the file at `path`, newest first, along first parents.

        The first pair is this reader's commit; at most `limit` commits before it are looked at, and a version is
        named by the newest commit that has it. None stands for "no file there", Oversize for one over `max_bytes`. A
        slim mirror deepens and hydrates on demand; SourceFault then says why it could not.
        """
        versions = self._versions(path, limit)
        # The first is held already and the second is most often the one sought; a long search fetches in bulk.
        for size in chain((1, 1), repeat(HYDRATE_AHEAD if self._slim else 1)):
            batch = tuple(islice(versions, size))
            if not batch:
                return
            self.hydrate([blob_id for _, blob_id in batch if blob_id])
            for commit, blob_id in batch:
                data = self.read_blob(blob_id, max_bytes) if blob_id else None
                yield commit, data

    def contents(
        self, paths: Collection[str], limit: int = HISTORY_COMMITS_MAX
    ) -> Iterator[tuple[str, str, str | None]]:
        """(commit, path, object id) of each content that one of the paths had, newest first, along first parents.

        The commit is the one that brought it in, among this reader's and at most `limit` before it. A path that ends
        with a slash is a folder's, any other one a file's; the id is None where there was no such thing. Links are not
        followed, and nothing but folders is read. A slim mirror deepens on demand; SourceFault then says why it could
        not.
        """
        return contents(self._first_parents(limit), paths, root_of=self._tree_id_of, child=self._child)

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `old` is `new` or in its history; only a full mirror knows, and an unknown commit is in none."""
        if old == new:
            return True
        try:
            return bool(self._repository.descendant_of(pygit2.Oid(hex=new), pygit2.Oid(hex=old)))
        except UNREADABLE:
            return False

    def _versions(self, path: str, limit: int) -> Iterator[tuple[str, str | None]]:
        seen: str | None = None
        for number, commit in enumerate(self._first_parents(limit)):
            blob_id = _blob_id(_GitListing(self, self._tree_id_of(commit)), path)
            if number == 0 or blob_id != seen:
                yield commit, blob_id
            seen = blob_id

    def _first_parents(self, limit: int) -> Iterator[str]:
        commit: str | None = self.commit
        # Once for all paths: a short history would be asked for again with every broken file.
        depths = deque(depth for depth in (DEEPEN_FIRST, limit + 1) if self._slim and depth > self._depth)
        for number in range(limit + 1):
            if commit is None:
                return
            yield commit
            parent = self._first_parent(commit)
            while parent is None and depths and number < limit:
                self._depth = depth = depths.popleft()
                if depth > number + 1 and self._source.deepen(self.commit, depth):
                    # libgit2 has read the list of shallow commits when it opened the repository.
                    self._repository.free()
                    self._repository = open_repository(self._folder)
                    parent = self._first_parent(commit)
            commit = parent

    def _child(self, folder_id: str, name: str) -> Child | None:
        entry = _GitListing(self, folder_id).entry(folder_id, name)
        return Child(entry.id, entry.kind == "folder") if entry and entry.kind in {"folder", "file"} else None

    def _first_parent(self, commit: str) -> str | None:
        parents = self._commit(commit).parent_ids
        return str(parents[0]) if parents and parents[0] in self._repository else None

    def _tree_id_of(self, commit: str) -> str:
        return str(self._commit(commit).tree_id)

    def _commit(self, commit: str) -> pygit2.Commit:
        found = self._object(commit)
        if not isinstance(found, pygit2.Commit):
            raise self._corrupt(commit)
        return found

    def folder(self, tree_id: str) -> pygit2.Tree:
        """The tree object of that id; raises Corrupt."""
        found = self._object(tree_id)
        if not isinstance(found, pygit2.Tree):
            raise self._corrupt(tree_id)
        return found

    def _object(self, object_id: str) -> pygit2.Object:
        try:
            return self._repository[pygit2.Oid(hex=object_id)]
        except UNREADABLE as error:
            raise self._corrupt(object_id) from error

    def _sized(self, file: TreeFile) -> TreeFile:
        if file.kind not in {"file", "symlink"}:
            return file
        try:
            return replace(file, size=int(self._repository.odb.read_header(pygit2.Oid(hex=file.blob_id))[1]))
        except UNREADABLE as error:
            raise self._corrupt(file.blob_id) from error

    def _corrupt(self, object_id: str) -> SourceFault:
        self._source.distrust()
        return Corrupt(f"object {object_id} cannot be read: the mirror is made anew by the next fetch.")


def _blob_id(listing: "_GitListing", path: str) -> str | None:
    found = find(listing, path)
    return found.entry.id if found and found.entry.kind == "file" else None


class _GitListing:
    """The tree of one commit as the walk sees it; ids are object ids."""

    def __init__(self, reader: TreeReader, root_id: str) -> None:
        self._reader = reader
        self._root_id = root_id

    def root(self) -> str:
        return self._root_id

    def entries(self, folder_id: str) -> Iterator[Entry]:
        for item in self._tree(folder_id):
            yield self._entry(item)

    def entry(self, folder_id: str, name: str) -> Entry | None:
        try:
            return self._entry(self._tree(folder_id)[name])
        except KeyError:
            return None

    def link_text(self, link_id: str) -> bytes:
        self._reader.hydrate([link_id])
        data = self._reader.read_blob(link_id, LINK_BYTES_MAX)
        return b"" if isinstance(data, Oversize) else data

    def prefetch(self, link_ids: Collection[str]) -> None:
        self._reader.hydrate(link_ids)

    def _tree(self, folder_id: str) -> pygit2.Tree:
        return self._reader.folder(folder_id)

    def _entry(self, item: pygit2.Object) -> Entry:
        kind = _KINDS.get(item.filemode, "other")
        return Entry(item.raw_name or b"", kind, str(item.id))
