"""Whose catalog a call asks for: the URL's repository, or at `/mcp` what Codex says of the working copy.

Either is routing and never authority: nobody may do more for having named a repository.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from registry.api.addresses import check_spelling, parse_address
from registry.errors import RepositoryInvalid, Unknown
from registry.names import REPOSITORY_LENGTH_MAX

ROOT: Final = b"/mcp"
REPOSITORIES: Final = b"/mcp/r"
CODEX_META: Final = "x-codex-turn-metadata"
CODEX_META_LENGTH_MAX: Final = 65_536
WORKSPACES_MAX: Final = 32
REMOTES_MAX: Final = 32


def repository_of_path(raw_path: bytes) -> str | None:
    """The repository that a raw path names, in its spelling; None for `/mcp` alone.

    Raises Unknown for any other path below `/mcp`, RepositoryInvalid for one that names none.
    """
    if raw_path in {ROOT, ROOT + b"/"}:
        return None
    tail = raw_path.removeprefix(REPOSITORIES)
    if raw_path.startswith(REPOSITORIES) and tail[:1] == b"/" and tail != b"/":
        address = parse_address(tail.removesuffix(b"/"))
        # No sub-resources here: a repository's last segment may well be `sync`.
        parts = [part for part in (address.repository, address.sub_resource) if part is not None]
        return "/".join(parts)
    raise Unknown("route", "MCP is at /mcp for the central catalog, and at /mcp/r/{host}/{path} for a repository's.")


def repository_of_meta(meta: Mapping[str, Any] | None) -> str | None:
    """The remote of the one working copy that Codex's turn metadata names, or None.

    None as well where there are several that differ, or where the text is not what Codex sends: then nobody has
    said whose catalog is meant.
    """
    said = None if meta is None else meta.get(CODEX_META)
    if isinstance(said, str):
        said = _parsed(said)
    workspaces = said.get("workspaces") if isinstance(said, Mapping) else None
    if not isinstance(workspaces, Mapping) or len(workspaces) > WORKSPACES_MAX:
        return None
    found = {remote for each in workspaces.values() if (remote := _remote(each)) is not None}
    return found.pop() if len(found) == 1 else None


def _parsed(text: str) -> object:
    if len(text) > CODEX_META_LENGTH_MAX:
        return None
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed


def _remote(workspace: object) -> str | None:
    """`origin`, or the only remote, if it could be one's spelling."""
    remotes = workspace.get("associated_remote_urls") if isinstance(workspace, Mapping) else None
    if not isinstance(remotes, Mapping) or not remotes or len(remotes) > REMOTES_MAX:
        return None
    url = remotes.get("origin") if "origin" in remotes or len(remotes) > 1 else next(iter(remotes.values()))
    if not isinstance(url, str) or len(url) > REPOSITORY_LENGTH_MAX or not url.isprintable():
        return None
    try:
        return check_spelling(url)
    except RepositoryInvalid:
        return None
