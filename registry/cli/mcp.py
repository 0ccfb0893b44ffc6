"""The command `mcp`: the bridge over stdio between a host and the registry."""

import os
import signal
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from registry.client.catalog import Catalog


@click.command(
    "mcp",
    epilog="""\b
Examples, as a host's configuration has them:
  registry mcp --repo .
  registry mcp --repository github.com/acme/payments
Where the registry is and the token come from REGISTRY_URL and REGISTRY_TOKEN. What was fetched is kept below
REGISTRY_CACHE_DIR (default: ~/.cache/playbook-registry).""",
)
@click.option(
    "--repo",
    "path",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    show_default=True,
    help="The working copy in which the host works; what its author changed is laid over the catalog.",
)
@click.option(
    "--repository",
    metavar="REPOSITORY",
    help="Whose catalog to serve, in any spelling; default: the one that the working copy's remote names.",
)
@click.option("--url", envvar="REGISTRY_URL", show_envvar=True, help="Where the registry is.")
def mcp(path: Path, repository: str | None, url: str | None) -> None:
    """Serve the playbooks of a working copy to an MCP host over standard input and output.

    Hosts start this by themselves: `registry init` writes the configuration that makes them.
    """
    from registry.mcp.bridge import Bridge  # noqa: PLC0415 - the list of commands does not wait for it
    from registry.mcp.stdio import StdioServer  # noqa: PLC0415

    # A process that is the first one of a container is ended by no signal that it does not take itself.
    signal.signal(signal.SIGTERM, _raise)
    signal.signal(signal.SIGINT, _raise)
    code, bridge = 0, Bridge(partial(_open, path, repository, url))
    try:
        bridge.start()
        left = StdioServer(bridge.call, version("playbook-registry")).serve(sys.stdin.buffer, sys.stdout.buffer)
        if left:
            click.echo(f"The host closed its end while {left} of its calls had no answer yet.", err=True)
    except _Signalled as signalled:
        code = 128 + signalled.number
    except Exception as error:  # noqa: BLE001 - what follows would hide it
        click.echo(f"The bridge failed: {type(error).__name__}: {error}", err=True)
        code = 1
    finally:
        # A thread may be waiting for a registry or a host that never answers, and is not worth waiting for.
        os._exit(code)


class _Signalled(BaseException):
    """A signal came that ends the process."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _raise(number: int, _: object) -> None:
    raise _Signalled(number)


def _open(path: Path, repository: str | None, url: str | None) -> "Catalog":
    from registry.client.catalog import Catalog  # noqa: PLC0415

    return Catalog.open(repository, path=path, url=url)
