"""The command `init`: a working copy's hosts pointed at the registry, by files to commit."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from registry.cli.hosts import HOSTS, SERVER_NAME, USUAL, Endpoint, Token
from registry.cli.options import open_remote
from registry.cli.outcome import Misused, No, Unreachable
from registry.cli.remote import Remote
from registry.cli.terminal import bad, good, heading, note, progress, say, shown
from registry.mcp.admission import LOOPBACK

if TYPE_CHECKING:
    # What looks at git and at playbooks is imported when it is needed: --help does not wait for it.
    from registry.cli.contact import Contact
    from registry.cli.enrolment import Enrolment
    from registry.cli.identity import Place
    from registry.cli.init_steps import Step

WORD = 14


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller asked for."""

    hosts: tuple[str, ...]
    name: str
    bridge: bool | None
    token: bool | None
    team: str | None
    register: bool
    example: bool
    ci: str


@click.command(
    "init",
    epilog="""\b
Examples:
  registry init --dry-run
  registry init
  registry init --host claude-code --host codex --bridge
  registry init services/search --repository github.com/acme/mono/-/services/search
Exit codes: 0 done, or nothing was to do; 1 a file was left alone, or the
repository could not be registered for --team; 2 wrong usage; 3 the registry
did not answer: the files are written all the same.""",
)
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--url", envvar="REGISTRY_URL", show_envvar=True, help="Where the registry is, as everybody reaches it.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=click.Choice(list(HOSTS)),
    metavar="HOST",
    help=f"Whose file to write: {', '.join(HOSTS)}; repeats. Default: all but vscode, which reads claude-code's too.",
)
@click.option(
    "--bridge/--no-bridge",
    default=None,
    help="Let hosts start `registry mcp`, which lays a working copy over the catalog and works offline; it must be "
    "installed where they run. Default: as a file has it, else the registry's URL.",
)
@click.option(
    "--with-token/--without-token",
    "token",
    default=None,
    help="Name the variable REGISTRY_TOKEN in the files, never its value. Default: where it is set now, or reading "
    "needs a token.",
)
@click.option("--name", default=SERVER_NAME, show_default=True, metavar="NAME", help="What hosts call the server.")
@click.option(
    "--repository", metavar="REPOSITORY", help="Which one this is, in any spelling; default: what its remote says."
)
@click.option("--team", metavar="TEAM", help="The team to register it for; default: the token's own.")
@click.option("--no-register", is_flag=True, help="Do not register the repository.")
@click.option("--no-example", is_flag=True, help="Add no example playbook where there is no playbook.")
@click.option(
    "--ci",
    type=click.Choice(["auto", "github", "none"]),
    default="auto",
    show_default=True,
    help="Whose check of pull requests to add; auto: GitHub's, if the remote is there.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and change nothing.")
@click.pass_context
def init(
    context: click.Context,
    /,
    path: Path,
    url: str | None,
    repository: str | None,
    no_register: bool,  # noqa: FBT001 - click passes by name
    no_example: bool,  # noqa: FBT001 - click passes by name
    dry_run: bool,  # noqa: FBT001 - click passes by name
    **wishes: Any,  # noqa: ANN401 - click passes by name
) -> None:
    """Set up the working copy at PATH (default: here), so that agents in it find its playbooks.

    Writes the configuration files of MCP hosts, merged with what is in them, and registers the repository where
    REGISTRY_TOKEN allows it. Run it again at any time: it changes what differs and nothing else.
    """
    wanted = Wishes(**wishes, register=not no_register, example=not no_example)
    where = _checked(url)
    from registry.cli.contact import Contact  # noqa: PLC0415 - see above
    from registry.cli.identity import locate  # noqa: PLC0415 - see above

    remote = open_remote(context, where)
    with progress("Asking the registry"):
        contact = Contact(remote, has_token=bool(os.environ.get("REGISTRY_TOKEN")))
        place = locate(path, repository, contact.registration)
    _write_place(place)
    if is_loopback(where):
        note(
            f"{shown(where)} leads to this machine only: for files that others shall use, give the registry's own URL."
        )
    enrolment = _enrolled(remote, contact, place, wanted, dry_run=dry_run)
    _line(enrolment.word, enrolment.said)
    steps = _steps(contact, place, wanted, where)
    obstacles = _take(place, steps, dry_run=dry_run)
    if obstacles or not enrolment.is_good:
        what = f"{obstacles} of the files were left alone" if obstacles else "the repository is not registered"
        raise No(f"{what}: the reason stands above.")
    if contact.fault is not None:
        raise Unreachable(f"{contact.fault} The files say where it is; whether it serves there was not seen.")


def _write_place(place: "Place") -> None:
    remote = place.checkout.remote
    by = f"its remote {shown(remote)}" if remote is not None else "--repository"
    say(f"{heading(shown(place.identity))}, by {by}")
    if place.passed is not None:
        inside = place.passed.relative_to(place.checkout.root.resolve()).as_posix()
        note(
            f"{shown(inside)} is a folder of it, so the files go to its top. Is it a service of its own? Then add "
            f"--repository {shown(place.identity)}/-/{shown(inside)}"
        )


def _enrolled(remote: Remote, contact: "Contact", place: "Place", wanted: Wishes, *, dry_run: bool) -> "Enrolment":
    from registry.cli import enrolment  # noqa: PLC0415 - see above

    if place.registration is not None:
        return enrolment.standing(place.registration)
    found = enrolment.obstacle(place, contact, wanted.team)
    if found is not None:
        return found
    if not wanted.register:
        return enrolment.Enrolment("unregistered", f"`{enrolment.command_for(place, wanted.team)}` registers it")
    if dry_run:
        team = wanted.team or contact.caller.team
        return enrolment.Enrolment("would register", f"{shown(place.checkout.remote)} for team {shown(team)}")
    with progress("Registering and reading the repository"):
        return enrolment.enrol(remote, place, contact, wanted.team)


def _steps(contact: "Contact", place: "Place", wanted: Wishes, url: str) -> "list[Step]":
    from registry.cli import init_steps  # noqa: PLC0415 - see above

    token = _token(contact, wanted)
    endpoint = Endpoint(url, place.identity, wanted.name, wanted.bridge, token)
    names = init_steps.names_in(contact.catalog(place.identity)) if wanted.example else frozenset()
    found = [
        *init_steps.host_steps(place, list(dict.fromkeys(wanted.hosts or USUAL)), endpoint),
        init_steps.example_step(place, names) if wanted.example else None,
        init_steps.check_step(place, wanted.ci),
    ]
    return [step for step in found if step is not None]


def _token(contact: "Contact", wanted: Wishes) -> Token:
    if wanted.token is not None:
        return Token.NEEDED if wanted.token else Token.LEAVE
    caller = contact.caller
    if caller.reads is False and not caller.has_token:
        return Token.NEEDED
    return Token.WHERE_SET if caller.has_token else Token.LEAVE


def _take(place: "Place", steps: "list[Step]", *, dry_run: bool) -> int:
    """Take the steps, or show them; how many could not be taken."""
    from registry.cli.copy_files import diff_of, write  # noqa: PLC0415 - see above
    from registry.cli.init_steps import ignored  # noqa: PLC0415 - see above

    root = place.checkout.root
    width = max((len(shown(step.path)) for step in steps), default=0)
    obstacles, written = 0, []
    for step in steps:
        change, obstacle = step.change, step.obstacle
        if change is not None and not change.is_done and not dry_run:
            failed = write(root, change)
            obstacle = failed.reason if failed is not None else None
        if obstacle is not None:
            obstacles += 1
            _line(bad("left alone"), f"{shown(step.path):<{width}}  {shown(obstacle)}")
        elif change is None:
            _line("", f"{shown(step.path):<{width}}  {shown(step.note)}")
        elif change.is_done:
            _line("as it is", f"{shown(step.path):<{width}}  {shown(step.note)}")
        else:
            written.append(step.path)
            word = "make" if change.before is None else "change"
            done = f"would {word}" if dry_run else good("made" if word == "make" else "changed")
            _line(done, f"{shown(step.path):<{width}}  {shown(step.note)}")
            if dry_run:
                say("\n".join(f"  {shown(line)}" for line in diff_of(change).splitlines()))
    _write_end(place, written, ignored(root, written), dry_run=dry_run)
    return obstacles


def _checked(url: str | None) -> str:
    """The URL that goes into the files. Raises Misused where there is none, or one that others must not see."""
    if url is None:
        raise Misused(
            "where is the registry? Give --url or set REGISTRY_URL: it is written into files to be committed."
        )
    if urlsplit(url).username is not None or urlsplit(url).password is not None:
        raise Misused("the registry's URL has a name or password in it, which would be committed: give it without.")
    return url.rstrip("/")


def is_loopback(url: str) -> bool:
    """Whether a URL leads to the machine that asks it."""
    host = urlsplit(url).hostname or ""
    return host in LOOPBACK or f"[{host}]" in LOOPBACK


def _line(word: str, said: str) -> None:
    say(f"  {word}{' ' * max(1, WORD - len(click.unstyle(word)))}{said}".rstrip())


def _write_end(place: "Place", written: list[str], unseen: tuple[str, ...], *, dry_run: bool) -> None:
    if not written:
        note("Nothing to do.")
        return
    if dry_run:
        note("Nothing was changed.")
        return
    if unseen:
        note(f"git ignores {', '.join(map(shown, unseen))}: take them out of .gitignore, or nobody else has them.")
    paths = [path for path in written if path not in unseen]
    if paths:
        at = "" if place.checkout.root == Path.cwd() else f" -C {shlex.quote(str(place.checkout.root))}"
        note(f"Commit them: git{at} add {shlex.join(paths)}")
    note(
        "A host asks once whether the repository may be trusted. It sees nothing? `registry doctor --repo .` says why."
    )
