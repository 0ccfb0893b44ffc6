"""Options that several commands share, and the way from them to a registry."""

import os
import re
from collections.abc import Callable
from typing import TypeVar

import click

from registry.cli.outcome import Misused
from registry.cli.remote import DEFAULT_URL, Remote
from registry.cli.terminal import shown

WAIT_MAX_S = 60.0

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

F = TypeVar("F", bound=Callable[..., object])


def with_remote(function: F) -> F:
    """The command with `--url` in front, called with the registry there as `remote`."""
    return click.option(
        "--url",
        "remote",
        envvar="REGISTRY_URL",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        callback=_open,
        help="Where the registry is.",
    )(function)


def with_url(function: F) -> F:
    """The command with `--url` in front, called with it as `url`: for one that asks a registry only now and then."""
    return click.option(
        "--url",
        envvar="REGISTRY_URL",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        help="Where the registry is.",
    )(function)


def open_remote(context: click.Context, url: str) -> Remote:
    """The registry at `url`, let go of when the command ends. Raises Misused for what is no URL."""
    # The token comes from the environment alone: an argument would stand in the list of processes.
    remote = Remote(url, os.environ.get("REGISTRY_TOKEN"))
    context.call_on_close(remote.close)
    return remote


def with_json(function: F) -> F:
    """The command with `--json`, called with it as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Write the registry's JSON to standard output.")(
        function
    )


def with_wait(function: F) -> F:
    """The command with `--wait`, called with it as `wait_s` (seconds)."""
    return click.option(
        "--wait",
        "wait_s",
        type=click.FloatRange(0, WAIT_MAX_S),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait until the outcome is published and searchable; 0 does not wait.",
    )(function)


def require_commit(text: str, where: str) -> None:
    """Nothing, if `text` is a commit's full id; else Misused, which ends with `where` to find it."""
    if not _COMMIT.fullmatch(text):
        raise Misused(f"--commit is {shown(text)}: give the commit's full id, 40 hexadecimal digits; {where}.")


def _open(context: click.Context, _parameter: click.Parameter, url: str) -> Remote | str:
    if context.resilient_parsing:
        # A shell completes: nothing will be called, but the completion of a name may ask there.
        return url
    return open_remote(context, url)
