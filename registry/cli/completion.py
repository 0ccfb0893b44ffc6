"""The command `completion`, and what it completes from a running registry."""

import json
import os
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import click
from click.shell_completion import CompletionItem, get_completion_class

from registry.cli.terminal import prose, say

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_REGISTRY_COMPLETE"
PATIENCE_S = 0.2
"""How long a key press may wait for the registry; what did not come by then is not offered."""
ANSWER_BYTES_MAX = 4 * 1024 * 1024
PAGE = 200

# A shell takes what is offered into the command line as it is: nothing else than plain words may get there.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@+~-]*")


@click.command(
    epilog="""\b
Examples:
  source <(registry completion bash)
  registry completion zsh > "${fpath[1]}/_registry"
  registry completion fish > ~/.config/fish/completions/registry.fish"""
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that lets SHELL complete commands, options, and names from the registry at REGISTRY_URL."""
    kind = get_completion_class(shell)
    if kind is None:
        raise TypeError(f"{shell} is a shell that click does not know")
    script = kind(click.Command("registry"), {}, "registry", VARIABLE)
    # Not `source()`, which for bash asks the bash on this machine for its version, and warns on standard error.
    say(script.source_template % script.source_vars())


def complete_repository(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of registered repositories that begin with what was typed; none where no registry answers at once."""
    asked = _Asked(context)
    return [CompletionItem(name) for name in _repositories(asked) if _is_offered(name, incomplete)]


def complete_playbook(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names in the catalog of `--repository`, or in central's; none where no registry answers at once."""
    repository = context.params.get("repository")
    path = f"/v1/catalogs/{quote(repository, safe='')}" if isinstance(repository, str) else "/v1/catalogs"
    found = _Asked(context).get(path)
    names = {
        str(item["name"]): str(item.get("purpose") or "")
        for part in ("entries", "unavailable")
        for item in _objects(found.get(part))
        if "name" in item
    }
    return [CompletionItem(name, help=prose(said)) for name, said in names.items() if _is_offered(name, incomplete)]


class _Asked:
    """A registry that is asked while a shell waits: over the standard library, which is there at once."""

    def __init__(self, context: click.Context) -> None:
        self._url = urlsplit(str(context.params.get("remote") or ""))
        self._end = time.monotonic() + PATIENCE_S

    def get(self, path: str) -> dict[str, Any]:
        """The JSON object that the registry answers, or an empty one for anything that is no answer in time."""
        left_s = self._end - time.monotonic()
        if left_s <= 0 or self._url.scheme not in {"http", "https"} or not self._url.hostname:
            return {}
        import http.client  # noqa: PLC0415 - only a name that the registry knows waits for it

        connect = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        token = os.environ.get("REGISTRY_TOKEN")
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            connection = connect(self._url.netloc.rpartition("@")[2], timeout=left_s)
            try:
                connection.request("GET", self._url.path.rstrip("/") + path, headers=headers)
                answer = connection.getresponse()
                found = json.loads(answer.read(ANSWER_BYTES_MAX)) if answer.status == 200 else {}
            finally:
                connection.close()
        except (OSError, ValueError, http.client.HTTPException):
            return {}
        return found if isinstance(found, dict) else {}


def _repositories(asked: _Asked) -> Iterator[str]:
    cursor = ""
    while True:
        page = asked.get(f"/v1/repositories?limit={PAGE}" + (f"&cursor={quote(cursor, safe='')}" if cursor else ""))
        yield from (str(item["id"]) for item in _objects(page.get("items")) if "id" in item)
        cursor = page.get("next_cursor") or ""
        if not cursor:
            return


def _is_offered(name: str, incomplete: str) -> bool:
    return name.startswith(incomplete) and _PLAIN.fullmatch(name) is not None


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
