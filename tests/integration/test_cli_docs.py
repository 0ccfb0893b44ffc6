"""docs/cli.md and the command line say the same, both ways."""

import re
from pathlib import Path

import click
import pytest

from registry.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
SECTIONS = {
    found["name"]: found["text"]
    for found in re.finditer(
        r"^##+ `registry (?P<name>[a-z ]+)`\n(?P<text>.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE
    )
}


def commands(group: click.Group, prefix: str = "") -> dict[str, click.Command]:
    """Full name -> command, for every command there is."""
    context = click.Context(group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[prefix + name] = command
        if isinstance(command, click.Group):
            found |= commands(command, f"{prefix}{name} ")
    return found


COMMANDS = commands(main)


def options(command: click.Command) -> set[str]:
    return {
        name for item in command.params if isinstance(item, click.Option) for name in (*item.opts, *item.secondary_opts)
    }


def test_every_command_has_its_section_and_every_section_its_command():
    assert set(SECTIONS) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_section_names_exactly_the_options_of_its_command(name: str):
    said = re.sub(r"```.*?```", "", SECTIONS[name], flags=re.DOTALL)
    assert set(re.findall(r"--[a-z][a-z-]+", said)) == options(COMMANDS[name])


def test_every_exit_code_is_in_the_page():
    from registry.cli import outcome

    codes = {outcome.OK, outcome.NO, outcome.MISUSED, outcome.UNREACHABLE}
    assert {int(code) for code in re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)} == codes


@pytest.mark.parametrize("variable", ["REGISTRY_URL", "REGISTRY_TOKEN", "NO_COLOR"])
def test_every_variable_that_a_client_reads_is_in_the_page(variable: str):
    assert f"| `{variable}` |" in PAGE
