"""The files that `registry init` makes of a working copy: each a step that was looked at before any is taken."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from registry.cli import starter
from registry.cli.copy_files import Change, Obstacle, read_text
from registry.cli.host_entries import Server
from registry.cli.hosts import HOSTS, Endpoint, Host, Kept, Token
from registry.cli.identity import Place
from registry.errors import SourceFault
from registry.git import worktree
from registry.git.checkout import ask_git
from registry.playbook.roots import Roots

WORKFLOWS: Final = ".github/workflows"
WORKFLOWS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class Step:
    """One file: the change that is to be made, or why none is; `note` is what somebody should know of it."""

    path: str
    change: Change | None = None
    obstacle: str | None = None
    note: str = ""


def host_steps(place: Place, hosts: Sequence[str], endpoint: Endpoint) -> Iterator[Step]:
    """A step for each host's file."""
    for host in (HOSTS[name] for name in hosts):
        path = _below(place, host.path)
        text = read_text(place.checkout.root, path)
        if isinstance(text, Obstacle):
            yield Step(path, obstacle=text.reason)
            continue
        made = host.configure(text, endpoint)
        if isinstance(made, Kept):
            yield Step(path, obstacle=made.reason)
        else:
            yield Step(path, Change(path, text, made.text), note=_note(host, made.before, made.after, endpoint))


def _note(host: Host, before: Server | None, after: Server, endpoint: Endpoint) -> str:
    said = host.title
    if before is not None and before.registry not in {None, after.registry}:
        said = f"{said}; it led to {before.registry}"
    elif before is not None and before.url and after.url and before.repository != after.repository:
        said = f"{said}; it led to {before.repository or 'the central catalog'}"
    if after.is_off:
        said = f"{said}; the server is switched off in it"
    if host.needs_variable and after.command is None:
        if after.token is not None:
            said = f"{said}; leaves the server out where {after.token} is not set"
        elif endpoint.token is Token.WHERE_SET:
            said = f"{said}; reads without a token, and needs --with-token to execute"
    return said


def example_step(place: Place, names: frozenset[str]) -> Step | None:
    """The example playbook where the copy has none. `names` are those of the catalog; one of them is not taken."""
    paths = None if place.registration is None else place.registration.get("paths")
    root = place.checkout.root
    try:
        roots = Roots(tuple(map(str, paths)) if isinstance(paths, list) else None, place.part)
        if worktree.list_files(root, enter=roots.enter, wanted=roots.wanted):
            return None
    except (ValueError, SourceFault):
        return None
    path = _below(place, starter.EXAMPLE_PATH)
    if not roots.wanted(path):
        return None
    if starter.EXAMPLE_NAME in names:
        said = f"no example is added: the catalog has a {starter.EXAMPLE_NAME}, and a copy here would go before it"
        return Step(path, note=said)
    text = read_text(root, path)
    if isinstance(text, Obstacle):
        return Step(path, obstacle=text.reason)
    note = "an example: make it yours before you push, since what is pushed is served"
    return Step(path, Change(path, text, starter.example_playbook()), note=note)


def check_step(place: Place, wanted: str) -> Step | None:
    """The workflow that checks pull requests, where GitHub has the remote or it is asked for, and there is none."""
    is_there = place.identity.partition("/")[0] == starter.GITHUB
    if wanted == "none" or (wanted == "auto" and not is_there) or starter.is_checked(_workflows(place.checkout.root)):
        return None
    path = starter.WORKFLOW_PATH
    if place.part:
        said = f"not made: it checks whole repositories. Let yours call `registry check {place.part}`"
        return Step(path, note=said)
    text = read_text(place.checkout.root, path)
    if isinstance(text, Obstacle):
        return Step(path, obstacle=text.reason)
    if text is not None:
        return None
    note = "checks pull requests; its first lines say which variables to set"
    return Step(path, Change(path, None, starter.github_workflow()), note=note)


def ignored(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of the paths that git ignores, so that nobody would commit them."""
    said = ask_git(root, "-c", "core.quotePath=false", "check-ignore", "--", *paths) if paths else None
    return tuple((said or b"").decode(errors="replace").splitlines())


def names_in(catalog: Mapping[str, Any] | None) -> frozenset[str]:
    """The names that a catalog's answer has an entry for."""
    entries = catalog.get("entries") if catalog is not None else None
    return frozenset(str(entry.get("name")) for entry in entries or () if isinstance(entry, dict))


def _workflows(root: Path) -> Iterator[str]:
    folder = root / WORKFLOWS
    for place in sorted(folder.glob("*.y*ml"))[:WORKFLOWS_MAX] if folder.is_dir() else ():
        text = read_text(root, place.relative_to(root).as_posix())
        if isinstance(text, str):
            yield text


def _below(place: Place, path: str) -> str:
    """A path below the folder that a host works in, as one below the copy's top."""
    return (place.folder.relative_to(place.checkout.root) / path).as_posix()
