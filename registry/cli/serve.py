"""The command `serve`."""

import os
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from registry.cli.outcome import Misused
from registry.cli.spelling import instead_of
from registry.cli.terminal import note, shown
from registry.errors import RegistryError

if TYPE_CHECKING:
    # Imported where it is used: a shell that completes an option does not wait for it.
    from registry.settings import Settings


class _ServeCommand(click.Command):
    """Lists every setting below the options, from the descriptions that stand at the settings themselves."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        from registry.settings import PREFIX, Settings  # noqa: PLC0415 - see above

        with formatter.section("Environment"):
            formatter.write_dl(
                [
                    (PREFIX + name.upper(), f"{field.description}{_default(field.default)}")
                    for name, field in Settings.model_fields.items()
                ]
            )
        formatter.write_paragraph()
        formatter.write_text("Example:")
        with formatter.indentation():
            formatter.write_text("REGISTRY_CENTRAL_URL=https://github.com/acme/playbooks.git registry serve")


@click.command(cls=_ServeCommand)
@click.option("--listen", metavar="ADDRESS:PORT", help="Where to listen; goes before REGISTRY_LISTEN.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="The data folder; goes before REGISTRY_DATA_DIR.",
)
@click.option(
    "--strict-env", is_flag=True, help="Refuse to start with an unknown REGISTRY_ variable, instead of a warning."
)
def serve(listen: str | None, data_dir: Path | None, strict_env: bool) -> None:  # noqa: FBT001 - click passes by name
    """Start the registry from its environment.

    SIGTERM and Ctrl-C finish what is under way and exit 0 within 10 seconds. Exits 2 where the configuration cannot
    work.
    """
    from registry.settings import load_settings, unknown_variables  # noqa: PLC0415 - see above

    unknown = unknown_variables(os.environ)
    if unknown and strict_env:
        raise Misused("\n".join(unknown))
    for sentence in unknown:
        note(f"Warning: {sentence}")
    try:
        settings = load_settings(listen=listen, data_dir=data_dir)
        if not settings.central_url:
            raise Misused(
                "REGISTRY_CENTRAL_URL is not set: give the remote of the central playbook repository, for example "
                "REGISTRY_CENTRAL_URL=https://github.com/acme/playbooks.git (or try `registry demo`)."
            )
        if advice := instead_of(settings.central_url):
            raise Misused(f"REGISTRY_CENTRAL_URL is {shown(settings.central_url)}, and {advice}.")
        _require_usable(settings)
        _serve(settings)
    except RegistryError as error:
        raise Misused(str(error)) from None


def _default(value: object) -> str:
    if value is None or value in ((), ""):
        return ""
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return f" [{shown}]"


def _require_usable(settings: "Settings") -> None:
    """Nothing, if the data folder and the address can be had: found out before anything is started."""
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.data_dir):
            pass
    except OSError as error:
        raise Misused(
            f"REGISTRY_DATA_DIR is {settings.data_dir}, where nothing can be written: {error.strerror}."
        ) from None
    family = socket.AF_INET6 if ":" in settings.listen_host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.listen_host, settings.listen_port))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise Misused(
                f"REGISTRY_LISTEN is {settings.listen}, which cannot be had ({reason}): stop what listens there, or "
                "give another address."
            ) from None


def _serve(settings: "Settings") -> None:
    from registry.serving import serve as run  # noqa: PLC0415 - takes seconds; neither --help nor a refusal waits for it

    run(settings)
