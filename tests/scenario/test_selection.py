"""The selection cases of a company: reported as the served search would have them, over what serves in a repository."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import pytest
from api_registry import Bare
from gitserver import GitRepo
from world import World, playbook, running

from registry.api.app import create_app

PAYMENTS = "github.com/acme/payments"
PURPOSES = {
    "deploy-rollback": "Take a deployment back to the version before it, once it hurts customers.",
    "rotate-signing-key": "Replace the key that signs webhooks and tokens, without a moment in which none is valid.",
    "revoke-credential": "Make a leaked credential or token worthless at once and find who used it.",
    "renew-certificate": "Renew a TLS certificate before it expires and browsers warn about the shop.",
    "clean-up-experiment": "Remove a finished experiment and its flags from the code.",
    "add-flag": "Put a change behind a flag, so that it can be switched off.",
    "migrate-database": "Move a database to another server, with a way back and without losing orders.",
}
TASKS = {
    "deploy-rollback": ["the new version breaks the checkout, take it back", "undo this morning's deployment"],
    "rotate-signing-key": ["partners say our webhook signatures are wrong", "replace the key that signs tokens"],
    "revoke-credential": ["somebody posted a token in a public chat", "our token was leaked, find who used it"],
    "renew-certificate": ["the padlock turns red next week"],
    "clean-up-experiment": ["the checkout test is over, get rid of its code", "remove the flags of a finished test"],
    "add-flag": ["ship this so that it can be switched off"],
    "migrate-database": ["orders must move to the other server"],
}
NEAR_MISSES = {"rotate-signing-key": ["a new key for the office door", "our token was leaked, find who used it"]}


def document(name, *, without=None, purpose=None):
    """A playbook of this company; `without` is a task that it does not write down."""
    tasks = [task for task in TASKS.get(name, ()) if task != without]
    selection = {"should_find": tasks, "should_not_find": NEAR_MISSES.get(name, [])}
    return playbook(name, purpose=purpose or PURPOSES[name], selection=json.dumps(selection))


def files(*names, **changes):
    return {f"playbooks/{name}.yaml": document(name, **changes) for name in names}


CENTRAL = files(*PURPOSES)
OWN_PURPOSE = {"purpose": "Undo a deployment of payments, and tell the ledger before customers."}
OWN = files("deploy-rollback", **OWN_PURPOSE)


@dataclass
class Company:
    """A central repository and one service with a copy of its own; tests put back what they change."""

    world: World
    payments: GitRepo

    def report(self) -> dict:
        return json.loads(self.world.services.evaluations.report(PAYMENTS))

    def search(self, text: str) -> list[str]:
        found = self.world.services.search.search(PAYMENTS, text, limit=50)
        return [row["name"] for row in found["results"]]

    def write(self, name: str, **changes: str) -> None:
        """Change the copy of a playbook that serves in payments, and have it read."""
        path = f"playbooks/{name}.yaml"
        repo, own = (self.payments, OWN_PURPOSE) if path in OWN else (self.world.central, {})
        repo.commit({path: document(name, **own, **changes)})
        if repo is self.payments:
            self.world.sync("payments")
        else:
            self.world.sync_central()


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    with running(tmp_path_factory.mktemp("company"), CENTRAL) as world:
        yield Company(world, world.service("payments", OWN))


def reported(report: dict, name: str, text: str) -> tuple[int | None, str | None]:
    """(rank of the playbook, what is first) of a task; one that is not missed is first."""
    missed = [one for one in report["missed"] if (one["playbook"], one["task"]) == (name, text)]
    return (missed[0]["rank"], missed[0]["taken_by"]) if missed else (1, name)


def placed(found: list[str], name: str) -> tuple[int | None, str | None]:
    return found.index(name) + 1 if name in found else None, found[0] if found else None


@pytest.mark.parametrize(("name", "task"), [(name, task) for name, tasks in TASKS.items() for task in tasks])
def test_a_task_comes_out_as_a_served_search_has_it_where_it_is_not_written_down(company, name, task):
    report = company.report()
    company.write(name, without=task)
    found = company.search(task)
    company.write(name)
    assert reported(report, name, task) == placed(found, name)


def test_some_tasks_find_their_playbook_and_some_do_not(company):
    assert 0.0 < company.report()["tasks"]["recall_at_1"] < 1.0


def test_a_near_miss_that_nobody_writes_down_comes_out_as_a_served_search_has_it(company):
    (near_miss,) = NEAR_MISSES["rotate-signing-key"][:1]
    attracted = [one for one in company.report()["attracted"] if one["task"] == near_miss]
    assert [one["rank"] for one in attracted] == [placed(company.search(near_miss), "rotate-signing-key")[0]]


def test_only_what_serves_there_is_judged(company):
    """Of the two copies of deploy-rollback one serves."""
    assert company.world.outcome("deploy-rollback", "payments") == "local_wins"
    assert company.report()["playbooks"] == len(PURPOSES)


def test_a_report_is_made_once_for_a_snapshot(company):
    evaluations = company.world.services.evaluations
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(evaluations.report, [PAYMENTS] * 8))
    assert {id(one) for one in [*made, evaluations.made(PAYMENTS)]} == {id(made[0])}


def test_a_push_is_judged_anew(company):
    before = company.report()
    company.write("deploy-rollback", without=TASKS["deploy-rollback"][0])
    after = company.report()
    company.write("deploy-rollback")
    assert (before["cases"] - after["cases"], before["snapshot"] == after["snapshot"]) == (1, False)


def ask(company: Company, path: str) -> httpx.Response:
    world = company.world
    return Bare(create_app(world.services, anonymous_read=True), world.services, world.store).ask("GET", path)


def test_over_http_it_is_the_report_on_the_snapshot_in_force(company):
    answer = ask(company, f"/v1/repositories/{PAYMENTS}/evaluation").json()
    assert answer["snapshot"] == ask(company, f"/v1/catalogs/{PAYMENTS}").headers["catalog-digest"]
    assert answer == company.report()


def test_any_spelling_of_the_repository_will_do(company):
    answer = ask(company, "/v1/repositories/evaluation?repository=https://github.com/acme/payments.git")
    assert answer.json()["repository"] == PAYMENTS


def test_centrals_own_catalog_has_a_report(company):
    central = company.world.services.in_force.view.central
    answer = ask(company, f"/v1/repositories/{central.replace('/', '%2F')}/evaluation").json()
    assert (answer["repository"], answer["playbooks"]) == (None, len(PURPOSES))


def test_a_repository_that_is_not_registered_has_none(company):
    answer = ask(company, "/v1/repositories/github.com/acme/nobody/evaluation")
    assert (answer.status_code, answer.json()["type"].rpartition("/")[2]) == (404, "repository-unknown")
