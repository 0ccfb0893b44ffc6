"""The command `export`: one playbook as a file, or a skill as its folder."""

import sys
from pathlib import Path
from typing import Any

import click

from registry.cli.completion import complete_playbook, complete_repository
from registry.cli.options import with_remote
from registry.cli.outcome import Misused, No
from registry.cli.remote import Params, Remote, segment
from registry.cli.saving import base_name, companions_of, save_file, save_skill
from registry.cli.terminal import note, progress, shown
from registry.digest import digest_of
from registry.names import name_key
from registry.playbook.export.fields import FORMS

ENDINGS = {"mcp-tool": "mcp-tool.json", "markdown": "md"}


@click.command(
    epilog="""\b
Examples:
  registry export deploy-rollback --as native
  registry export rotate-signing-key --repository github.com/acme/payments --as skill --output .claude/skills"""
)
@click.argument("name", shell_complete=complete_playbook)
@click.option(
    "--repository",
    metavar="REPOSITORY",
    shell_complete=complete_repository,
    help="For whom, in any spelling; default: central's catalog.",
)
@click.option("--version", metavar="VERSION", help="Exactly this version's copy, whether it serves or not.")
@click.option("--digest", metavar="DIGEST", help="Exactly this copy, whether it serves or not.")
@click.option(
    "--as", "form", type=click.Choice(FORMS), default="original", show_default=True, help="The form to write it in."
)
@click.option(
    "--output",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The file or folder to write; of a skill, the folder below which its own folder is made.",
)
@click.option("--force", is_flag=True, help="Replace what is there.")
@with_remote
def export(
    remote: Remote,
    name: str,
    repository: str | None,
    version: str | None,
    digest: str | None,
    form: str,
    output: Path | None,
    force: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Write the playbook NAME in one of five forms: to standard output, or with --output to a file.

    With --as skill and --output, the skill's other files are written beside its SKILL.md, each checked by its digest.
    """
    asked = {"repository": repository, "version": version, "digest": digest}
    params: Params = [(key, value) for key, value in asked.items() if value is not None]
    with progress("Exporting"):
        entry = remote.get(f"/v1/playbooks/{segment(name)}", params).json
        body = _exported(remote, entry, params, form)
    key = name_key(str(entry.get("name")))
    if key is None:
        raise Misused("the answer names no playbook, so this is no registry: is REGISTRY_URL right?")
    files = companions_of(entry) if form == "skill" else ()
    if output is None:
        _write_out(body)
        if files:
            note(f"The skill has {_count(len(files), 'other file')}: --output FOLDER writes them too.")
    elif form == "skill":
        with progress("Fetching the skill's files"):
            place = save_skill(output, key, body, files, remote, replace=force)
        note(f"Wrote {shown(place)}/ with {_count(1 + len(files), 'file')}.")
    else:
        place = output / _file_name(key, form, entry, body) if output.is_dir() else output
        save_file(place, body, replace=force)
        note(f"Wrote {shown(place)}.")
    if entry.get("serves") is False:
        note(f"Version {shown(entry.get('version'))} is not the copy that serves here: `registry explain` says why.")


def _exported(remote: Remote, entry: dict[str, Any], params: Params, form: str) -> bytes:
    """The bytes of that very copy; they are what the answer's tag says that they are."""
    pinned = [(key, value) for key, value in params if key == "repository"]
    answer = remote.get(
        f"/v1/playbooks/{segment(str(entry.get('name')))}",
        [*pinned, ("digest", str(entry.get("digest"))), ("as", form)],
    )
    tag = answer.headers.get("ETag", "").removeprefix("W/").strip('"')
    if tag.partition("+")[0] != digest_of(answer.body):
        raise No("the file that came is not the one that the registry named: try again, and look for a proxy between.")
    return answer.body


def _file_name(key: str, form: str, entry: dict[str, Any], body: bytes) -> str:
    if form == "original":
        source = entry.get("source")
        return base_name(str(source.get("path", "")) if isinstance(source, dict) else "")
    if form == "native":
        return f"{key}.md" if body.startswith(b"---\n") else f"{key}.yaml"
    return f"{key}.{ENDINGS[form]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _write_out(body: bytes) -> None:
    if not sys.stdout.isatty():
        click.echo(body, nl=False)
        return
    for line in body.decode(errors="replace").splitlines():
        click.echo(shown(line.replace("\t", "    ")) if line else "")
