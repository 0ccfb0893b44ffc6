"""One server as a host's configuration file has it: what it says, whether it is ours, and what we lay over it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

TOKEN: Final = "REGISTRY_TOKEN"  # noqa: S105 - the name of a variable
URL: Final = "REGISTRY_URL"
COMMAND: Final = "registry"
BEARER: Final = "Bearer "
OF_REPOSITORY: Final = "/mcp/r/"

_FORM: Final = frozenset({"type", "url", "httpUrl", "command", "args", "bearer_token_env_var"})
"""The members that say how a server is reached: those of the other form go when the form changes."""
_VARIABLES: Final = ("env", "environment")
_REFERENCES: Final = ("$", "{env:", "%")

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    """An entry of ours: by `url`, or by a `command` that is started with `arguments`.

    `registry` is the registry's URL and `repository` the one that is named, None where a file leaves it open. `token`
    is the variable that a token is taken from; `has_secret` says that one stands there in clear.
    """

    name: str
    url: str | None = None
    command: str | None = None
    arguments: tuple[str, ...] = ()
    registry: str | None = None
    repository: str | None = None
    token: str | None = None
    has_secret: bool = False
    is_off: bool = False


def read_entry(name: str, entry: Entry) -> Server:
    """What an entry says."""
    words = _command_of(entry)
    url = _url_of(entry) or None
    variables: Entry = next((entry[key] for key in _VARIABLES if isinstance(entry.get(key), Mapping)), {})
    registry = variables.get(URL) if words else (url or "").partition(OF_REPOSITORY)[0]
    text = _token_text(entry, variables)
    named = entry.get("bearer_token_env_var")
    passed = entry.get("env_vars")
    is_named = (isinstance(passed, list) and TOKEN in passed) or (text is not None and TOKEN in text)
    return Server(
        name=name,
        url=url,
        command=words[0] if words else None,
        arguments=words[1:] if words else (),
        registry=registry.rstrip("/") if isinstance(registry, str) and registry else None,
        repository=_option(words, "--repository") if words else repository_of(url or ""),
        token=named if isinstance(named, str) else TOKEN if is_named else None,
        has_secret=bool(text and text.strip()) and not (text or "").startswith(_REFERENCES),
        is_off=entry.get("enabled") is False or entry.get("disabled") is True,
    )


def is_ours(entry: Entry) -> bool:
    """Whether an entry leads to a playbook registry, whichever it is, and not to somebody's other server."""
    return is_bridge(entry) or repository_of(_url_of(entry)) is not None


def is_bridge(entry: Entry) -> bool:
    """Whether an entry starts `registry mcp`."""
    words = _command_of(entry)
    if words is None:
        return False
    program = words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    return program == COMMAND and words[1:2] == ("mcp",)


def is_started_here(server: Server) -> bool:
    """Whether a server is our bridge."""
    return is_bridge({"command": [server.command, *server.arguments]}) if server.command is not None else False


def repository_of(url: str) -> str | None:
    """The repository that the URL of an MCP endpoint names, None where it is no such URL."""
    try:
        path = urlsplit(url).path if "://" in url else ""
    except ValueError:
        return None
    return unquote(path.partition(OF_REPOSITORY)[2]).strip("/") or None


def leads_to(entry: Entry, repository: str) -> bool:
    """Whether an entry's URL names that repository, whichever registry has it."""
    return repository_of(_url_of(entry)) == repository


def is_at(entry: Entry, registry: str) -> bool:
    """Whether an entry's URL is that of the registry's endpoint, for central's catalog too."""
    return _url_of(entry).rstrip("/") == f"{registry}/mcp"


def laid_over(before: Entry, wanted: Entry, *, bridge: bool) -> dict[str, Any]:
    """The entry as it is to be, with what else somebody wrote into it, in the order it was written.

    `bridge` says which form `wanted` has; where `before` has the other one, what belongs to that goes.
    """
    kept = dict(before)
    changes_form = bool(before) and is_bridge(before) is not bridge
    for key in _FORM - wanted.keys():
        if changes_form or key != "bearer_token_env_var":
            kept.pop(key, None)
    if changes_form:
        _drop_from(kept, "headers", ("authorization",))
        for key in _VARIABLES:
            _drop_from(kept, key, (URL.lower(), TOKEN.lower()))
        _drop_from(kept, "env_vars", (TOKEN.lower(),))
    if changes_form or "bearer_token_env_var" in wanted:
        _drop_from(kept, "http_headers", ("authorization",))
    for key, value in wanted.items():
        kept[key] = _joined(kept.get(key), value)
    return kept


def _joined(there: object, value: object) -> object:
    """A member's new value, with what else is in it where both are objects or the list of variables."""
    if isinstance(value, Mapping) and isinstance(there, Mapping):
        # A header has one name, however it is written.
        names = {str(name).lower() for name in value}
        return {
            **{name: each for name, each in there.items() if str(name).lower() not in names or name in value},
            **value,
        }
    if value == [TOKEN] and isinstance(there, list):
        return there if TOKEN in there else [*there, TOKEN]
    return value


def _drop_from(entry: dict[str, Any], key: str, names: tuple[str, ...]) -> None:
    there = entry.get(key)
    if isinstance(there, Mapping):
        entry[key] = {name: value for name, value in there.items() if str(name).lower() not in names}
    elif isinstance(there, list):
        entry[key] = [each for each in there if str(each).lower() not in names]
    if key in entry and not entry[key]:
        del entry[key]


def _token_text(entry: Entry, variables: Entry) -> str | None:
    """What stands where a token goes, None for nothing."""
    for key in ("headers", "http_headers"):
        headers = entry.get(key)
        for name, value in headers.items() if isinstance(headers, Mapping) else ():
            if str(name).lower() == "authorization" and isinstance(value, str):
                return value.removeprefix(BEARER)
    value = variables.get(TOKEN)
    return value if isinstance(value, str) else None


def _command_of(entry: Entry) -> tuple[str, ...] | None:
    """The words that an entry starts a process with, None where it starts none."""
    command, arguments = entry.get("command"), entry.get("args", [])
    words = command if isinstance(command, list) else [command, *(arguments if isinstance(arguments, list) else [])]
    return tuple(words) if words and all(isinstance(word, str) for word in words) else None


def _url_of(entry: Entry) -> str:
    url = entry.get("url") or entry.get("httpUrl")
    return url if isinstance(url, str) else ""


def _option(words: Sequence[str], name: str) -> str | None:
    for at, word in enumerate(words):
        if word == name:
            return words[at + 1] if at + 1 < len(words) else None
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None
