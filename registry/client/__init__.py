"""The library for hosts and MCP servers: open a catalog, overlay a working copy, search, get, execute."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from registry.client.catalog import Catalog, Found, Results
    from registry.client.following import State

__all__ = ["Catalog", "Found", "Results", "State"]


def __getattr__(name: str) -> object:
    # The bridge imports modules of this package at its start, and must not pay for those that it does not need yet.
    if name in {"Catalog", "Found", "Results"}:
        from registry.client import catalog  # noqa: PLC0415

        return getattr(catalog, name)
    if name == "State":
        from registry.client.following import State  # noqa: PLC0415

        return State
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
