"""The command `schema`."""

from importlib.resources import files

import click

from registry.cli.terminal import write_json

FILES = {"playbook": "playbook.v1.json", "policy": "policy.v1.json"}


@click.command(
    epilog="""\b
Example:
  registry schema playbook > playbook.v1.json
A running registry serves the same at /schemas/playbook.v1.json and /schemas/policy.v1.json."""
)
@click.argument("document", type=click.Choice(sorted(FILES)))
def schema(document: str) -> None:
    """Print the JSON Schema of the native playbook format or of the policy file, for editors."""
    write_json(files("registry.playbook").joinpath("schemas", FILES[document]).read_bytes())
