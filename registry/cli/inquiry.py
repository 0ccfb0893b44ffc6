"""What `registry check` asks a registry: who the repository is, what central has and wants, what the change does."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from registry.cli.outcome import Misused, No, Unreachable
from registry.cli.remote import Answer, Remote
from registry.digest import Json

TRIES = 3
PAUSE_MAX_S = 5.0


class Inquiry:
    """Questions to one registry. Each raises No, Misused or Unreachable, as every call of a Remote does."""

    def __init__(self, remote: Remote, sleep: Callable[[float], None] = time.sleep) -> None:
        self._remote = remote
        self._sleep = sleep

    def registration(self, spelling: str) -> Mapping[str, Any] | None:
        """The repository as it is registered, or None where it is not."""
        try:
            found = _object(self._remote.get("/v1/repositories", [("repository", spelling)]).json)
        except No as answer:
            if answer.code == "repository-unknown":
                return None
            raise
        return found if isinstance(found.get("id"), str) else _object(None)

    def central_entries(self) -> list[Json]:
        """The entries of central's own catalog, with contracts."""
        entries = _object(self._patiently(lambda: self._remote.get("/v1/catalogs", [("view", "full")])).json).get(
            "entries"
        )
        return entries if isinstance(entries, list) else []

    def publication(self) -> frozenset[str]:
        """The fields that the central policy file asks every playbook for."""
        found = _object(self._patiently(lambda: self._remote.get("/v1/policy")).json).get("publication")
        return frozenset(item for item in found if isinstance(item, str)) if isinstance(found, list) else frozenset()

    def preview(self, proposal: Mapping[str, Json]) -> dict[str, Json]:
        """What the change would do."""
        return _object(self._patiently(lambda: self._remote.call("POST", "/v1/preview", body=proposal)).json)

    def _patiently(self, ask: Callable[[], Answer]) -> Answer:
        """The answer of a registry that may be busy with other checks: it works out one preview at a time."""
        for _ in range(TRIES - 1):
            try:
                return ask()
            except Unreachable as busy:
                if busy.retry_after_s is None:
                    raise
                self._sleep(min(busy.retry_after_s, PAUSE_MAX_S))
        return ask()


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Misused("the answer is not what a registry says, so this is none: is its URL right?")
    return value
