"""The command `check`: a working copy read as the server would read its commit, and what its change would do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from registry.cli.completion import complete_repository
from registry.cli.options import open_remote, with_url
from registry.cli.outcome import NO, Misused, No, Unreachable
from registry.cli.terminal import note, progress, shown
from registry.digest import Json
from registry.ports import Role

if TYPE_CHECKING:
    # What reads playbooks takes a while to import: neither --help nor a shell that completes an option waits for it.
    from registry.cli.inquiry import Inquiry
    from registry.cli.working_copy import Reading
    from registry.service.checking import Report

SHOWN_MAX = 5
FORMATS = ("text", "json", "github", "sarif")
Failure = No | Misused | Unreachable
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked: the folder, and what the caller said of it."""

    path: Path
    role: str | None
    policy_path: str
    globs: tuple[str, ...]
    ref: str | None


@click.command(
    "check",
    epilog="""\b
Examples:
  registry check
  registry check . --registry https://playbooks.acme.example --base origin/main
  registry check . --base origin/main --format github --strict
  registry check . --format sarif > check.sarif
Exit codes: 0 nothing stands against merging; 1 errors, with --strict also
warnings (those that were there before --base count no more, errors do);
2 wrong usage; 3 the registry did not answer: what the files show is written
first.""",
)
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option(
    "--registry", metavar="URL", help="Ask the registry there what the change would do, and what is required."
)
@click.option("--ask-registry", is_flag=True, help="The same of the registry at --url.")
@click.option(
    "--base",
    "ref",
    metavar="REF",
    help="Compare with where HEAD branched off from REF; default: with what is in force.",
)
@click.option(
    "--role",
    type=click.Choice([Role.CENTRAL.value, Role.SERVICE.value]),
    help="What the copy is of; default: as registered, else central if it has or had a policy file, else service.",
)
@click.option("--policy-path", default="policy.yaml", show_default=True, help="Where a central copy's policy file is.")
@click.option(
    "--path",
    "globs",
    multiple=True,
    metavar="GLOB",
    help="Where its playbooks are; repeats, replaces the registered or usual folders.",
)
@click.option(
    "--repository",
    metavar="REPOSITORY",
    shell_complete=complete_repository,
    help="Which one the registry knows it as; default: the copy's own remote.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How it is written; github: annotations of a workflow run and its summary; sarif: for code scanning.",
)
@click.option("--strict", is_flag=True, help="Warnings count like errors.")
@with_url
@click.pass_context
def check_command(
    context: click.Context,
    url: str,
    path: Path,
    registry: str | None,
    ask_registry: bool,  # noqa: FBT001 - click passes by name
    ref: str | None,
    role: str | None,
    policy_path: str,
    globs: tuple[str, ...],
    repository: str | None,
    style: str,
    strict: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Check the playbooks of the working copy at PATH (default: here), by the server's own code, tracked or not.

    With --registry it also says what the change would do: to this repository's catalog, or for a copy of the central
    one to everybody's.
    """
    _require_folder(path)
    if registry is not None and not registry.strip():
        # An unset variable of a workflow must not pass for a check that found nothing required.
        raise Misused("--registry is empty: give the registry's URL, or leave the option out to ask none.")
    asked = registry or (url if ask_registry else None)
    inquiry = None
    if asked is not None:
        from registry.cli.inquiry import Inquiry  # noqa: PLC0415 - see above

        inquiry = Inquiry(open_remote(context, asked))
    subject = Subject(path, role, policy_path, globs, ref)
    with progress("Reading the playbooks"):
        report, hint, failure = _examine(subject, inquiry, repository)
    from registry.cli.report import write_report  # noqa: PLC0415 - see above

    write_report(style, report, path, asked)
    if hint is not None:
        note(hint)
    if failure is not None:
        raise failure
    if not report.passes(strict=strict):
        context.exit(NO)


def _examine(
    subject: Subject, inquiry: "Inquiry | None", repository: str | None
) -> "tuple[Report, str | None, Failure | None]":
    """(the report, what to do where there is no playbook, why the registry did not answer)."""
    from registry.cli import working_copy  # noqa: PLC0415 - see above

    spelling = repository or (_detect(subject.path) if inquiry is not None else None)
    registration, failure = _ask(lambda: inquiry.registration(spelling) if inquiry and spelling else None)
    if repository is None and isinstance(failure, Misused) and failure.code == "repository-invalid":
        # The remote is a folder, or whatever else: nothing that a registry could know it by.
        spelling, failure = None, None
    role = _role(subject, registration)
    if inquiry is not None and role is Role.SERVICE and spelling is None:
        raise Misused(
            "this copy has no remote that a registry could know it by: name it with --repository, or say --role "
            "central for a copy of the central one."
        )
    plan = working_copy.plan_for(
        subject.path, role, globs=subject.globs, policy_path=subject.policy_path, registration=registration
    )
    reading = working_copy.read(subject.path, plan, subject.ref)
    if failure is not None:
        inquiry = None
    report, failure_of_preview = _report(reading, role, inquiry, spelling)
    hint = None
    if not report.playbooks and not report.findings:
        hint = _nothing(working_copy.passed_over(subject.path, plan), plan.roots.patterns if subject.globs else ())
    return report, hint, failure or failure_of_preview


def _report(
    reading: "Reading", role: Role, inquiry: "Inquiry | None", spelling: str | None
) -> "tuple[Report, Failure | None]":
    from registry.service import checking  # noqa: PLC0415 - see above
    from registry.service.proposing import proposal_json  # noqa: PLC0415 - see above

    now, before = reading.now, reading.before
    base = None if before is None else before.revision
    effect: dict[str, Json] | None = None
    central: list[Json] | None = []
    asked_for: frozenset[str] | None = frozenset()
    failure = None
    if inquiry is not None:
        proposal = proposal_json(now.revision, base, role, spelling if role is Role.SERVICE else None)
        effect, failure = _ask(lambda: inquiry.preview(proposal))
        if role is Role.SERVICE and failure is None:
            central, failure = _ask(inquiry.central_entries)
        if role is Role.SERVICE and failure is None:
            asked_for, failure = _ask(inquiry.publication)
    if effect is None and base is not None:
        effect = checking.effect_alone(base, now.revision, datetime.now(UTC).date())
    report = checking.Report(
        role=role.value,
        playbooks=len(now.heads),
        names=checking.touched_names(effect) if base is not None else frozenset(head.name for head in now.heads),
        findings=checking.check(now, before, central=central or (), asked_for=asked_for or (), effect=effect),
        base=reading.base,
        effect=effect,
        selection=checking.select(now, central or (), effect),
    )
    return report, failure


def _ask(question: Callable[[], T]) -> tuple[T | None, Failure | None]:
    """(the answer, None) or (None, why there is none): what the files alone show needs no registry."""
    try:
        return question(), None
    except (No, Misused, Unreachable) as failure:
        return None, failure


def _role(subject: Subject, registration: Mapping[str, Any] | None) -> Role:
    if subject.role is not None:
        return Role(subject.role)
    if registration is not None and registration.get("role") in set(Role):
        return Role(registration["role"])
    from registry.cli import working_copy  # noqa: PLC0415 - see above

    return Role.CENTRAL if working_copy.has_policy(subject.path, subject.policy_path, subject.ref) else Role.SERVICE


def _detect(path: Path) -> str | None:
    from registry.git.checkout import detect_remote  # noqa: PLC0415 - see above

    return detect_remote(path)


def _require_folder(path: Path) -> None:
    if path.is_file():
        raise Misused(
            f"{path} is a file: give the folder of the working copy, and with --path the place in it, as in "
            f"`registry check . --path {path.name}`."
        )
    if not path.is_dir():
        raise Misused(f"{path} does not exist: give the folder of a working copy.")


def _nothing(passed_over: tuple[str, ...], globs: tuple[str, ...]) -> str:
    """What to do where there is no playbook."""
    where = " or ".join(globs) if globs else "playbooks/ or .playbooks/"
    found = f"No playbook was found in {shown(where)}."
    if passed_over:
        files = ", ".join(shown(name) for name in passed_over[:SHOWN_MAX])
        more = f" and {len(passed_over) - SHOWN_MAX} more" if len(passed_over) > SHOWN_MAX else ""
        found = f"{found} Passed over: {files}{more}. A native playbook begins with `playbook: 1`."
    return (
        f"{found} If they lie elsewhere, name the place with --path, here and in `registry register`. One to begin "
        "with: `registry schema playbook --example > playbooks/rotate-signing-key.yaml`."
    )
