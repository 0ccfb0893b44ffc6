"""The command `schema`."""

from importlib.resources import files

import click

from registry.cli.terminal import say, write_json

FILES = {"playbook": "playbook.v1.json", "policy": "policy.v1.json"}
EXAMPLES = {"playbook": "playbooks/security/rotate-signing-key.yaml", "policy": "policy.yaml"}
"""The file that shows each, below the example central repository."""


@click.command(
    epilog="""\b
Examples:
  registry schema playbook > playbook.v1.json
  registry schema playbook --example > playbooks/rotate-signing-key.yaml
A running registry serves the same at /schemas/playbook.v1.json and /schemas/policy.v1.json."""
)
@click.argument("document", type=click.Choice(sorted(FILES)))
@click.option("--example", is_flag=True, help="Print a file to begin with, instead of the schema.")
def schema(document: str, example: bool) -> None:  # noqa: FBT001 - click passes by name
    """Print the JSON Schema of the native playbook format or of the policy file, for editors."""
    if example:
        say(files("registry").joinpath("examples", "central", EXAMPLES[document]).read_text().rstrip("\n"))
        return
    write_json(files("registry.playbook").joinpath("schemas", FILES[document]).read_bytes())
