"""A command group that knows its commands by one line each and imports a command when it is called."""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem


class Listed(NamedTuple):
    """One command: the module that holds it, its name there, and its line in the list of commands."""

    module: str
    attribute: str
    summary: str


class LazyGroup(click.Group):
    """A group over a table, so that listing the commands imports none of them.

    A command that is not in the table is answered with the nearest one.
    """

    def __init__(
        self,
        *,
        listed: Mapping[str, Listed],
        elsewhere: Mapping[str, str] | None = None,
        name: str | None = None,
        help: str | None = None,  # noqa: A002 - click's own word
    ) -> None:
        """`elsewhere` maps what other tools call a command to the name that it has in the table."""
        super().__init__(name=name, help=help)
        self.listed = listed
        self.elsewhere = elsewhere or {}

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> click.Context:
        """The context of one call. NO_COLOR (no-color.org) goes before click's choice by the terminal."""
        if os.environ.get("NO_COLOR"):
            extra.setdefault("color", False)
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names in the order of the table: what one needs first stands first."""
        return list(self.listed)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command of that name, imported now, or None."""
        found = self.listed.get(cmd_name)
        if found is None:
            return None
        command = getattr(import_module(found.module), found.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{found.module}.{found.attribute} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` begin with. Raises NoSuchCommand with the nearest names of the table."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            if here := self.elsewhere.get(error.command_name):
                raise click.UsageError(f"No such command {error.command_name!r}: here it is {here!r}.", ctx) from None
            raise click.exceptions.NoSuchCommand(error.command_name, possibilities=list(self.listed), ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list of commands from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, item.summary) for name, item in self.listed.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands of the table and the group's own options that begin with what was typed."""
        options = click.Command.shell_complete(self, ctx, incomplete)
        commands = [
            CompletionItem(name, help=item.summary) for name, item in self.listed.items() if name.startswith(incomplete)
        ]
        return [*commands, *options]
