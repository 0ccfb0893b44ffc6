"""What remarks need of git: who owns a source's files, and what its playbooks' files once were."""

from collections.abc import Collection, Mapping
from typing import Final

from registry.catalog.codeowners import CODEOWNERS_BYTES_MAX, CODEOWNERS_PLACES, CodeOwners, read_codeowners
from registry.catalog.lineage import FileVersion, sketch_of
from registry.playbook.limits import DEFAULT_LIMITS
from registry.playbook.reading import read_file
from registry.playbook.skill import is_skill_file, skill_folder
from registry.ports import Role, Tree

CENTRAL_COMMITS_MAX: Final = 2_000
"""Commits of central that are looked at: its mirror has them all, and a folder that stayed the same costs nothing."""
LOCAL_COMMITS_MAX: Final = 100
"""Commits of a service repository that are looked at, as for held copies: its slim mirror has to fetch them."""
VERSIONS_MAX: Final = 100
"""Contents of one file that are compared."""
CENTRAL_READ_MAX, LOCAL_READ_MAX = 5_000, 500
"""Contents of all files together that are read, for what is said in them; of others their ids are compared."""

_Event = tuple[int, str, str | None]
"""How many commits that changed something were seen before, the commit, the object id."""


def read_owners(tree: Tree) -> CodeOwners | None:
    """The CODEOWNERS file of a commit, or None where there is none that is read. Raises from the SourceFault tree."""
    for place in CODEOWNERS_PLACES:
        blob = tree.blob_id(place)
        if blob is not None:
            tree.hydrate({blob})
            data = tree.read_blob(blob, CODEOWNERS_BYTES_MAX)
            return read_codeowners(place, data) if isinstance(data, bytes) else None
    return None


def read_histories(tree: Tree, paths: Mapping[str, str], role: Role) -> dict[str, tuple[FileVersion, ...]]:
    """Name -> what its playbook's file was, newest first, for each name and path in `paths`.

    Of a skill its whole folder counts. Raises from the SourceFault tree.
    """
    is_central = role is Role.CENTRAL
    limit = CENTRAL_COMMITS_MAX if is_central else LOCAL_COMMITS_MAX
    wanted = {item for path in paths.values() for item in (path, _whole(path))}
    events: dict[str, list[_Event]] = {path: [] for path in wanted}
    places: dict[str, int] = {}
    for commit, path, found in tree.contents(sorted(wanted), limit):
        events[path].append((places.setdefault(commit, len(places)), commit, found))
    versions = {name: _versions(events[_whole(path)], events[path]) for name, path in paths.items()}
    most = max(1, (CENTRAL_READ_MAX if is_central else LOCAL_READ_MAX) // max(1, len(paths)))
    tree.hydrate({item.file for found in versions.values() for item in found[:most]})
    return {name: (*_read(tree, paths[name], found[:most], role), *found[most:]) for name, found in versions.items()}


def _whole(path: str) -> str:
    folder = skill_folder(path) if is_skill_file(path) else ""
    return f"{folder}/" if folder else path


def _versions(whole: Collection[_Event], file: Collection[_Event]) -> list[FileVersion]:
    """The contents of a file or folder, with what the file was at each of them."""
    versions: list[FileVersion] = []
    for place, commit, found in whole:
        blob = next((item for at, _, item in file if at >= place), None)
        if found is not None and blob is not None and len(versions) < VERSIONS_MAX:
            versions.append(FileVersion(commit, found, blob))
    return versions


def _read(tree: Tree, path: str, versions: Collection[FileVersion], role: Role) -> tuple[FileVersion, ...]:
    """The versions with what is said in them."""
    known: dict[str, tuple[str | None, str | None, tuple[int, ...]]] = {}
    found = []
    for item in versions:
        if item.file not in known:
            known[item.file] = _document(tree, path, item.file, role)
        found.append(FileVersion(item.commit, item.whole, item.file, *known[item.file]))
    return tuple(found)


def _document(tree: Tree, path: str, blob: str, role: Role) -> tuple[str | None, str | None, tuple[int, ...]]:
    """(digest, version, sketch) of the document in a blob, Nones where none loads.

    A skill's digest is left out: it is that of its other files too, and those are in its folder's id.
    """
    data = tree.read_blob(blob, DEFAULT_LIMITS.file_bytes)
    playbook = read_file(path, data, role=role.value).playbook if isinstance(data, bytes) else None
    if playbook is None:
        return None, None, ()
    digest = None if is_skill_file(path) else playbook.digest
    return digest, playbook.version, sketch_of(playbook.contract)
