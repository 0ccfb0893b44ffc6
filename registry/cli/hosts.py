"""The configuration files of MCP hosts: what each is to say, merged into what it says already. Pure.

Each host has a file of its own in a repository, with its own words for the same: how a server is called, where it is,
and from which variable a token comes. No secret is ever written, only the name of its variable. Other servers stay as
they are, and so does what somebody added to ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final
from urllib.parse import quote

from registry.cli import json_edit, toml_edit
from registry.cli.host_entries import (
    BEARER,
    COMMAND,
    OF_REPOSITORY,
    TOKEN,
    URL,
    Entry,
    Server,
    is_at,
    is_bridge,
    is_ours,
    laid_over,
    leads_to,
    read_entry,
)

SERVER_NAME: Final = "playbooks"
OPENCODE_SCHEMA: Final = "https://opencode.ai/config.json"

_HERE: Final = "."
_WORKSPACE: Final = "${workspaceFolder}"


class Token(Enum):
    """What a file says of the token: nothing new, its variable for whoever has set it, or its variable always."""

    LEAVE = "leave"
    WHERE_SET = "where-set"
    NEEDED = "needed"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What hosts are to be pointed at.

    `registry` is its URL without a slash at the end, `repository` an id. `bridge` says that hosts start
    `registry mcp` instead of asking the URL; None leaves that as an entry has it, and is the URL for a new one.
    """

    registry: str
    repository: str
    name: str = SERVER_NAME
    bridge: bool | None = None
    token: Token = Token.LEAVE

    @property
    def url(self) -> str:
        """Where the repository's playbooks are served over MCP."""
        return f"{self.registry}{OF_REPOSITORY}{quote(self.repository, safe='/:@~')}"


@dataclass(frozen=True, slots=True)
class Configured:
    """The text that a file is to have, the old one where nothing is to do, and our server in it, before and after."""

    text: str
    before: Server | None
    after: Server


@dataclass(frozen=True, slots=True)
class Kept:
    """Why a file is left as it is, as the rest of a sentence that begins with its path."""

    reason: str


@dataclass(frozen=True, slots=True)
class Host:
    """A host: its `name` on the command line, what people call it, and its file below the folder that it works in.

    `servers` is the path of its servers in the file, `reference` the token's variable in its syntax, `form` what an
    entry says. `folder` is how it tells a process where it works. It leaves a server out whose variable is not set if
    it `needs_variable`. Where it `may_group`, its servers may stand one object further down; `first` begins a new file.
    What `allows_comments` is read with them, but never written to.
    """

    name: str
    title: str
    path: str
    servers: str
    reference: str
    form: Callable[[Endpoint, "Host"], dict[str, Any]]
    folder: str = _HERE
    needs_variable: bool = False
    may_group: bool = False
    allows_comments: bool = False
    first: Entry | None = None

    @property
    def format(self) -> str:
        """What the file is written in."""
        return "TOML" if self.path.endswith(".toml") else "JSON"

    def configure(self, text: str | None, endpoint: Endpoint) -> Configured | Kept:
        """The file's new text where `text` is what it holds now, None for none; or why it stays."""
        try:
            found = self._read(text)
            where = self._servers_in(found)
        except json_edit.NotEditable as error:
            return Kept(f"cannot be read as {self.format} ({error}): mend it, then run this again")
        name, before = _own(where, endpoint)
        if before is None and name in where:
            return Kept(f"has another server called {name}, which stays: give ours another name with --name")
        wanted = self._merged(before or {}, endpoint)
        try:
            said = text if text and before == wanted else self._put(text, found, name, wanted)
        except json_edit.NotEditable as error:
            return Kept(
                f"is not plain {self.format} ({error}), so nothing is changed in it: add our server by hand, as "
                f"docs/hosts/{self.name}.md shows"
            )
        return Configured(said, read_entry(name, before) if before else None, read_entry(name, wanted))

    def find(self, text: str) -> tuple[Server, ...]:
        """The entries of ours in a file, and whatever has our name. Raises NotEditable for one that cannot be read."""
        return tuple(
            read_entry(name, entry)
            for name, entry in self._servers_in(self._read(text)).items()
            if isinstance(entry, Mapping) and (is_ours(entry) or name == SERVER_NAME)
        )

    def _read(self, text: str | None) -> dict[str, Any]:
        if text is None or not text.strip():
            return {}
        if self.format == "TOML":
            return toml_edit.read_table(text)
        return json_edit.read_relaxed(text) if self.allows_comments else json_edit.read_object(text)

    def _path_in(self, found: Entry) -> tuple[str, ...]:
        inner = found.get(self.servers)
        group = inner.get("servers") if self.may_group and isinstance(inner, Mapping) else None
        is_group = isinstance(group, Mapping) and "type" not in group
        return (self.servers, "servers") if is_group else (self.servers,)

    def _servers_in(self, found: Entry) -> Entry:
        here: Any = found
        for key in self._path_in(found):
            here = here.get(key, {})
            if not isinstance(here, Mapping):
                raise json_edit.NotEditable(f"{key!r} is no {'table' if self.format == 'TOML' else 'object'} in it")
        there: Entry = here
        return there

    def _merged(self, before: Entry, endpoint: Endpoint) -> dict[str, Any]:
        bridge = is_bridge(before) if endpoint.bridge is None and before else bool(endpoint.bridge)
        leave = endpoint.token is Token.WHERE_SET and self.needs_variable and not bridge
        chosen = replace(endpoint, bridge=bridge, token=Token.LEAVE if leave else endpoint.token)
        return laid_over(before, self.form(chosen, self), bridge=bridge)

    def _put(self, text: str | None, found: Entry, name: str, wanted: Entry) -> str:
        path = (*self._path_in(found), name)
        if self.format == "TOML":
            return toml_edit.put(text or "", path, wanted)
        if text is not None and text.strip():
            return json_edit.put(text, path, wanted)
        new = "{}"
        for key, value in (self.first or {}).items():
            new = json_edit.put(new, (key,), value)
        return f"{json_edit.put(new, path, wanted)}\n"


def _own(where: Entry, endpoint: Endpoint) -> tuple[str, Entry | None]:
    """(the name that our server has or is to have, its entry if there is one).

    Where it got another name, and no name is asked for, the one that leads to the same repository is it.
    """
    entry = where.get(endpoint.name)
    if isinstance(entry, Mapping) and (is_ours(entry) or is_at(entry, endpoint.registry)):
        return endpoint.name, entry
    if endpoint.name == SERVER_NAME:
        for name, other in where.items():
            if isinstance(other, Mapping) and leads_to(other, endpoint.repository):
                return name, other
    return endpoint.name, None


def _by_url(endpoint: Endpoint, host: Host, kind: str | None) -> dict[str, Any]:
    said: dict[str, Any] = {} if kind is None else {"type": kind}
    said["url"] = endpoint.url
    if endpoint.token is not Token.LEAVE:
        said["headers"] = {"Authorization": BEARER + host.reference}
    return said


def _variables(endpoint: Endpoint, host: Host) -> dict[str, str]:
    token = {} if endpoint.token is Token.LEAVE else {TOKEN: host.reference}
    return {URL: endpoint.registry, **token}


def _usual(kind: str | None, bridge_kind: str | None) -> Callable[[Endpoint, Host], dict[str, Any]]:
    """The form that most hosts share; `kind` is the type of what a URL leads to, `bridge_kind` that of a process."""

    def form(endpoint: Endpoint, host: Host) -> dict[str, Any]:
        if not endpoint.bridge:
            return _by_url(endpoint, host, kind)
        said: dict[str, Any] = {} if bridge_kind is None else {"type": bridge_kind}
        arguments = ["mcp", "--repo", host.folder]
        return {**said, "command": COMMAND, "args": arguments, "env": _variables(endpoint, host)}

    return form


def _codex(endpoint: Endpoint, host: Host) -> dict[str, Any]:
    named = endpoint.token is not Token.LEAVE
    if not endpoint.bridge:
        return {"url": endpoint.url, **({"bearer_token_env_var": TOKEN} if named else {})}
    # Codex gives a process the variables that are named, and no others.
    passed = {"env_vars": [TOKEN]} if named else {}
    arguments = ["mcp", "--repo", host.folder]
    return {"command": COMMAND, "args": arguments, **passed, "env": {URL: endpoint.registry}}


def _opencode(endpoint: Endpoint, host: Host) -> dict[str, Any]:
    if not endpoint.bridge:
        return _by_url(endpoint, host, "remote")
    command = [COMMAND, "mcp", "--repo", host.folder]
    return {"type": "local", "command": command, "environment": _variables(endpoint, host)}


_KNOWN: Final = (
    # Without the default Claude Code would send the reference itself where the variable is not set.
    Host("claude-code", "Claude Code, VS Code", ".mcp.json", "mcpServers", f"${{{TOKEN}:-}}", _usual("http", "stdio")),
    Host("codex", "Codex", ".codex/config.toml", "mcp_servers", TOKEN, _codex, needs_variable=True),
    Host(
        "cursor",
        "Cursor",
        ".cursor/mcp.json",
        "mcpServers",
        f"${{env:{TOKEN}}}",
        _usual(None, "stdio"),
        folder=_WORKSPACE,
        allows_comments=True,
    ),
    Host(
        "gemini-cli",
        "Gemini CLI",
        ".gemini/settings.json",
        "mcpServers",
        f"${TOKEN}",
        _usual("http", None),
        allows_comments=True,
    ),
    Host(
        "opencode",
        "OpenCode",
        "opencode.json",
        "mcp",
        f"{{env:{TOKEN}}}",
        _opencode,
        may_group=True,
        allows_comments=True,
        first={"$schema": OPENCODE_SCHEMA},
    ),
    Host(
        "vscode",
        "VS Code",
        ".vscode/mcp.json",
        "servers",
        f"${{env:{TOKEN}}}",
        _usual("http", "stdio"),
        folder=_WORKSPACE,
        allows_comments=True,
    ),
)

HOSTS: Final[Mapping[str, Host]] = {host.name: host for host in _KNOWN}
USUAL: Final = ("claude-code", "codex", "cursor", "gemini-cli", "opencode")
"""The hosts whose files are written where none is named. VS Code reads the file of Claude Code too."""
