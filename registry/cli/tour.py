"""The tour of the demo: three stories, each checked against the running registry before it is told."""

import os
import sys
from pathlib import Path
from typing import Any

from registry.cli.outcome import No
from registry.cli.remote import Remote, segment
from registry.cli.terminal import faint, heading, say, shown
from registry.demo import FORGE, Scene

PAYMENTS, CHECKOUT, BILLING = (f"{FORGE}/{name}" for name in ("payments", "checkout", "legacy-billing"))
OWN = "rotate-signing-key"
REQUIRED = "deploy-rollback"
HELD = "replay-invoices"
BROKEN = "close-billing-month"


def verify(remote: Remote) -> None:
    """Nothing, if the registry shows what the tour tells. Raises No with the first thing that it does not."""
    for check in (_own_copy_wins_at_home, _required_holds, _broken_file_is_held):
        check(remote)


def tell(scene: Scene) -> None:
    """Write the tour: for each story what to look at, by which commands and URLs, and what they show."""
    tool = _tool()
    say(f"The registry answers at {heading(scene.url)}. In another terminal:")
    say()
    say(f"  export REGISTRY_URL={scene.url} REGISTRY_TOKEN={scene.token}")
    for at, (title, told, steps) in enumerate(_stories(scene, tool), 1):
        say()
        say(heading(f"{at}. {title}"))
        say(told)
        _write_steps(steps)
    say()
    say(heading("And then"))
    _write_steps(_further(scene, tool))
    say()
    say(f"The repositories are in {scene.repositories}: change a file, commit it, and look again.")
    say(f"The registry's log is {scene.log}.")
    say()
    say("Ctrl-C stops the registry and removes everything it made.")


_Steps = tuple[tuple[str, str], ...]


def _stories(scene: Scene, tool: str) -> tuple[tuple[str, str, _Steps], ...]:
    return (
        (
            "A repository's own copy wins at home and nowhere else",
            f"payments rotates its keys in its own way and keeps a {OWN} of its own.",
            (
                (f"{tool} explain {OWN} --repository {PAYMENTS}", "local_wins: payments' own copy serves there"),
                (f"{tool} explain {OWN} --repository {CHECKOUT}", "central_only: everybody else gets the company's"),
                (
                    f"curl -s {scene.url}/v1/catalogs/{PAYMENTS}",
                    "the whole catalog of payments, one immutable snapshot",
                ),
            ),
        ),
        (
            "A required playbook holds",
            f"The company requires {REQUIRED}. checkout tries a shortcut under that name, in deploy_rollback.yaml.",
            (
                (f"{tool} explain {REQUIRED} --repository {CHECKOUT}", "required_holds: central serves, and why"),
                (f"{tool} catalog {CHECKOUT}", "checkout's copy stands under Refused, with its file"),
                (
                    f"curl -s '{scene.url}/v1/playbooks/{REQUIRED}/explain?repository={CHECKOUT}'",
                    "the same as JSON: both copies, which one serves, and the reason",
                ),
            ),
        ),
        (
            "A broken file is reported, and everything else serves",
            f"legacy-billing's last commit has a typo in {HELD}; its {BROKEN} never loaded.",
            (
                (f"{tool} repositories {BILLING}", "both files with line and column, and what to mend"),
                (f"{tool} explain {HELD} --repository {BILLING}", "the copy from before the typo serves, marked held"),
                (f"{tool} explain {BROKEN} --repository {BILLING}", "unavailable: there never was a good copy to hold"),
                (f"curl -s {scene.url}/v1/repositories/{BILLING}/problems", "the problems as JSON"),
            ),
        ),
    )


def _further(scene: Scene, tool: str) -> _Steps:
    return (
        (f'{tool} search "a deploy went wrong, take it back"', "the playbooks that fit a task, best first"),
        (f"{tool} check {scene.repository('legacy-billing')}", "what a team sees before it pushes; exits 1"),
        (f"{tool} policy show", "what is required, and who said so"),
        (f"curl -s {scene.url}/schema/openapi.json", "every call of the API"),
    )


def _write_steps(steps: _Steps) -> None:
    for command, shows in steps:
        say(f"  {command}")
        say(faint(f"      shows {shows}"))


def _tool() -> str:
    """How the command line is called from here."""
    script = Path(sys.executable).with_name("registry")
    if not script.exists():
        return f"{sys.executable} -m registry.cli"
    try:
        return os.fspath(script.relative_to(Path.cwd()))
    except ValueError:
        return os.fspath(script)


def _own_copy_wins_at_home(remote: Remote) -> None:
    home = _entry(_catalog(remote, PAYMENTS), OWN)
    _expect(home["decision"]["outcome"] == "local_wins", OWN, PAYMENTS, home["decision"]["outcome"])
    elsewhere = _entry(_catalog(remote, CHECKOUT), OWN)
    _expect(elsewhere["source"]["kind"] == "central", OWN, CHECKOUT, elsewhere["source"]["kind"])


def _required_holds(remote: Remote) -> None:
    catalog = _catalog(remote, CHECKOUT)
    entry = _entry(catalog, REQUIRED)
    _expect(entry["decision"]["outcome"] == "required_holds", REQUIRED, CHECKOUT, entry["decision"]["outcome"])
    _expect(any(item["name"] == REQUIRED for item in catalog["refused"]), REQUIRED, CHECKOUT, "not among the refused")


def _broken_file_is_held(remote: Remote) -> None:
    catalog = _catalog(remote, BILLING)
    entry = _entry(catalog, HELD)
    _expect(bool(entry["held"]), HELD, BILLING, "not held")
    problems = remote.get(f"/v1/repositories/{segment(BILLING)}/problems").json["problems"]
    reported = [item for item in problems if item["name"] == HELD and item["level"] == "error"]
    _expect(any(item["held"] and item["line"] > 1 for item in reported), HELD, BILLING, "not reported with its line")
    _expect(any(item["name"] == BROKEN for item in catalog["unavailable"]), BROKEN, BILLING, "not unavailable")


def _catalog(remote: Remote, repository: str) -> dict[str, Any]:
    answer: dict[str, Any] = remote.get(f"/v1/catalogs/{segment(repository)}").json
    return answer


def _entry(catalog: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] | None = next((item for item in catalog["entries"] if item["name"] == name), None)
    if found is None:
        raise No(f"the demo went wrong: {name} serves nowhere in the catalog of {shown(catalog['repository'])}.")
    return found


def _expect(met: bool, name: str, repository: str, found: object) -> None:  # noqa: FBT001 - the fact itself
    if not met:
        raise No(f"the demo went wrong: {name} in {repository} is {shown(found)}.")
