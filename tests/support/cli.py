"""Calls the command line as a shell would, against a registry that respx plays."""

import json
from typing import Any

import httpx
import respx
from click.testing import CliRunner, Result

from registry.cli.main import main

URL = "http://registry.test"
TOKEN = "pbr_test-token"


def run(*arguments: str, **environment: str | None) -> Result:
    """The result of `registry <arguments>` with REGISTRY_URL and REGISTRY_TOKEN set; `environment` goes before them."""
    settings = {"REGISTRY_URL": URL, "REGISTRY_TOKEN": TOKEN, "NO_COLOR": None, **environment}
    return CliRunner().invoke(main, list(arguments), env=settings, prog_name="registry")


def answers(status: int = 200, body: Any = None, **headers: str) -> respx.MockRouter:
    """A registry that gives every call the same answer. Use as a context manager; `.calls` holds what was asked."""
    router = respx.mock(base_url=URL, assert_all_called=False)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    router.route().mock(
        httpx.Response(status, content=b"" if body is None else json.dumps(body).encode(), headers=named)
    )
    return router


def refuses(status: int, code: str, detail: str, **headers: str) -> respx.MockRouter:
    """A registry that refuses every call with a problem."""
    body = {"type": f"/problems/{code}", "title": code, "status": status, "detail": detail}
    return answers(status, body, Content_Type="application/problem+json", **headers)


def asked(router: respx.MockRouter) -> httpx.Request:
    """The one request that was made."""
    (call,) = router.calls
    return call.request


def repository(state: str = "ok", **changes: Any) -> dict[str, Any]:
    """A repository of the wire (http-api.md, Shapes)."""
    return {
        "id": "github.com/acme/payments",
        "role": "service",
        "url": "https://github.com/acme/payments",
        "ref": None,
        "team": "payments",
        "paths": None,
        "aliases": [],
        "credential": None,
        "registered_at": "2026-11-01T10:00:00Z",
        "sync": {
            "state": state,
            "since": "2026-11-01T10:00:01Z",
            "commit": "c" * 40,
            "synced_at": "2026-11-01T10:00:01Z",
            "next_sync_at": None,
            "attempts": 0,
            "message": "" if state == "ok" else f"it is {state}",
        },
        "snapshot": "sha256:" + "a" * 64,
        "playbooks": 2,
        "problems": 1,
        "held": 1,
        "refused": 0,
        **changes,
    }


def entry(name: str = "rotate-signing-key", **changes: Any) -> dict[str, Any]:
    """An entry of a catalog (http-api.md, The snapshot)."""
    return {
        "name": name,
        "title": name,
        "version": "2.1.0",
        "digest": "sha256:" + "b" * 64,
        "document": "playbook/1",
        "source": {
            "kind": "local",
            "repository": "github.com/acme/payments",
            "commit": "c" * 40,
            "path": f"playbooks/{name}.yaml",
            "blob": "sha256:" + "d" * 64,
        },
        "owner": "payments",
        "tags": ["keys"],
        "purpose": "Replace the key.",
        "not_for": [],
        "required": False,
        "deprecated": None,
        "waiver": None,
        "held": None,
        "decision": {"outcome": "local_wins", "over": []},
        **changes,
    }


def catalog(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A snapshot of the wire."""
    return {
        "format": "playbook-catalog/1",
        "repository": "github.com/acme/payments",
        "sources": {},
        "rules": "sha256:" + "e" * 64,
        "valid_until": None,
        "entries": list(entries),
        "refused": [],
        "unavailable": [],
        "problems": [],
        **changes,
    }
