"""Runs over HTTP: statuses, headers, bodies, and what a stranger is told."""

import pytest
from api_registry import ADMIN, AS_ADMIN, Bare
from pydantic import SecretStr
from world import playbook, running

from registry.api.app import create_app

SCHEMA = "\n  type: object\n  additionalProperties: false\n  required: [key]\n  properties: {key: {type: string}}"
CENTRAL = {
    "policy.yaml": "policy: 1\nrequired: [{name: hold}]\naccess: [{deny: {}, names: [closed], reason: Not now.}]\n",
    "playbooks/clean-up.yaml": playbook("clean-up", inputs=SCHEMA),
    "playbooks/hold.yaml": playbook("hold"),
    "playbooks/closed.yaml": playbook("closed"),
}
REPOSITORY = "github.com/acme/payments"
COPY = {"name": "mine", "version": "1", "digest": "sha256:" + "a" * 64, "path": "playbooks/mine.yaml"}


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    with running(tmp_path_factory.mktemp("api-runs"), CENTRAL, admin_token=SecretStr(ADMIN)) as world:
        world.service("payments", {"playbooks/hold.yaml": playbook("hold", version="9")})
        yield Bare(create_app(world.services, anonymous_read=True), world.services, world.store)


@pytest.fixture(scope="module")
def closed(door):
    """The same where reading needs a token."""
    return Bare(create_app(door.services, anonymous_read=False), door.services, door.store)


@pytest.fixture(scope="module")
def agent(door):
    return door.token("playbook:execute", team="payments")


def open_run(door, headers, name="clean-up", *, inputs=None, repository=REPOSITORY, **options):
    more = {key: options.pop(key) for key in ("digest", "task") if key in options}
    return door.ask(
        "POST",
        f"/v1/playbooks/{name}/runs" + (f"?repository={repository}" if repository else ""),
        json={"inputs": {"key": "a"} if inputs is None else inputs, **more},
        headers={**headers, **options},
    )


def code(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].removeprefix("/problems/")


def test_a_run_is_created_at_its_own_address(door, agent):
    made = open_run(door, agent, task="the test is over")
    found = door.ask("GET", made.headers["Location"], headers=agent)
    assert (made.status_code, made.headers["Cache-Control"], found.json()) == (201, "no-store", made.json()["run"])
    assert made.json().keys() == {"run_id", "run", "snapshot", "state", "procedure"}


def test_the_snapshot_of_a_run_can_be_read(door, agent):
    assert door.ask("GET", f"/v1/snapshots/{open_run(door, agent).json()['snapshot']}").status_code == 200


def test_a_run_in_full_has_its_procedure_again(door, agent):
    made = open_run(door, agent)
    full = door.ask("GET", made.headers["Location"] + "?view=full", headers=agent).json()
    assert full["procedure"] == made.json()["procedure"]


def test_inputs_may_be_left_out(door, agent):
    assert door.ask("POST", "/v1/playbooks/hold/runs", json={}, headers=agent).status_code == 201


@pytest.mark.parametrize("key", ["k-1", '"k-2"'])
def test_the_same_request_again_is_200_with_the_same_run(door, agent, key):
    first, second = (open_run(door, agent, **{"Idempotency-Key": key}) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert (second.json()["run"], second.headers["Location"]) == (first.json()["run"], first.headers["Location"])


def test_another_request_under_that_key_is_409(door, agent):
    open_run(door, agent, **{"Idempotency-Key": "k-3"})
    assert code(open_run(door, agent, inputs={"key": "b"}, **{"Idempotency-Key": "k-3"})) == (409, "conflict")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"name": "no-such"}, (404, "playbook-unknown")),
        ({"name": "%3F"}, (400, "name-invalid")),
        ({"repository": "https://"}, (400, "repository-invalid")),
        ({"digest": "sha256:" + "0" * 64}, (403, "refused")),
        ({"digest": "newest"}, (400, "request-invalid")),
        ({"name": "closed"}, (403, "forbidden")),
        ({"inputs": {"kye": 1}}, (422, "inputs-invalid")),
        ({"inputs": [1]}, (422, "inputs-invalid")),
        ({"inputs": None, "name": "hold"}, (201, "")),
        ({"inputs": {"key": "x" * 300_000}}, (413, "too-large")),
        ({"inputs": {"key": "x" * 2_000_000}}, (413, "too-large")),
    ],
)
def test_a_refusal_has_its_status_and_code(door, agent, options, expected):
    answer = open_run(door, agent, **options)
    assert (answer.status_code, answer.json().get("type", "").removeprefix("/problems/")) == expected


def test_violations_are_members_of_the_problem(door, agent):
    problem = open_run(door, agent, inputs={"kye": 1}).json()
    assert [(each["pointer"], each["keyword"]) for each in problem["violations"]] == [
        ("/key", "required"),
        ("/kye", "additionalProperties"),
    ]


def test_a_refused_digest_is_told_which_copy_serves(door, agent):
    problem = open_run(door, agent, digest="sha256:" + "0" * 64).json()
    assert problem["serving"]["digest"] == door.ask("GET", "/v1/playbooks/clean-up").json()["digest"]


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"inputs": {}, "inputs": {}}', b'{"input": {}}', b'{"inputs": {"a": 1e999}}']
)
def test_a_body_that_is_none_is_refused(door, agent, body):
    headers = {**agent, "Content-Type": "application/json"}
    assert door.ask("POST", "/v1/playbooks/hold/runs", content=body, headers=headers).status_code in {400, 422}


def test_a_stranger_is_told_nothing_not_even_of_its_body(door):
    said = {
        door.ask("POST", path, content=body).text
        for path in ("/v1/playbooks/hold/runs", "/v1/playbooks/no-such/runs", "/v1/playbooks/%3F/runs?x=1", "/v1/runs")
        for body in (b"", b"{", b"{}")
    }
    assert len(said) == 1
    assert '"status":401' in said.pop()


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/runs/run_x", "/v1/runs/run_x?view=full"])
def test_runs_are_not_shown_to_a_stranger_where_reading_is_open(door, path):
    assert code(door.ask("GET", path)) == (401, "unauthenticated")


def test_a_stranger_is_counted(door):
    before = door.services.runs.attempts.counts()["unauthenticated"]
    door.ask("POST", "/v1/playbooks/hold/runs", json={})
    assert door.services.runs.attempts.counts()["unauthenticated"] == before + 1


def test_where_reading_is_closed_a_token_to_execute_opens_and_reads_its_runs(closed, agent):
    made = open_run(closed, agent)
    assert made.status_code == 201
    assert closed.ask("GET", made.headers["Location"], headers=agent).status_code == 200
    assert closed.ask("GET", "/v1/runs", headers=agent).status_code == 200
    assert closed.ask("GET", "/v1/catalogs", headers=agent).status_code == 403


def test_a_run_of_others_is_as_unknown_as_none(door, agent):
    made = open_run(door, agent)
    stranger = door.token("playbook:execute", "catalog:read", team="checkout")
    admins = door.ask(
        "POST",
        "/v1/tokens",
        json={"name": "else", "team": "checkout", "scopes": ["playbook:execute"]},
        headers=AS_ADMIN,
    )
    other = {"Authorization": f"Bearer {admins.json()['token']}"}
    assert code(door.ask("GET", made.headers["Location"], headers=other)) == (404, "run-unknown")
    assert code(door.ask("GET", "/v1/runs/run_" + "0" * 26, headers=stranger)) == (404, "run-unknown")
    assert code(door.ask("GET", "/v1/runs/..%2fpolicy", headers=stranger))[0] in {400, 404}


def test_runs_are_listed_with_their_filters(door, agent):
    opened = open_run(door, agent, name="hold", inputs={}).json()["run_id"]
    page = door.ask("GET", f"/v1/runs?repository={REPOSITORY}&name=hold&limit=1", headers=agent).json()
    assert [each["id"] for each in page["items"]] == [opened]


@pytest.mark.parametrize("query", ["limit=0", "cursor=x", "nam=a", "view=full", "repository=https://"])
def test_a_list_that_cannot_be_is_refused(door, agent, query):
    assert door.ask("GET", f"/v1/runs?{query}", headers=agent).status_code == 400


def test_a_working_trees_run_that_comes_again_is_200(door, agent):
    headers = {**agent, "Idempotency-Key": "w-1"}
    first, second = (door.ask("POST", f"/v1/runs?repository={REPOSITORY}", json=COPY, headers=headers) for _ in "ab")
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json() == first.json()


def test_a_working_trees_run_is_recorded(door, agent):
    made = door.ask("POST", f"/v1/runs?repository={REPOSITORY}", json={**COPY, "inputs": {"a": 1}}, headers=agent)
    assert (made.status_code, made.json()["run"]["source"]["unreviewed"]) == (201, True)
    assert door.ask("GET", made.headers["Location"], headers=agent).json() == made.json()["run"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"name": "Hold"}, (403, "refused")),
        ({"name": "closed"}, (403, "forbidden")),
        ({"digest": "x"}, (400, "request-invalid")),
        ({"snapshot": "sha256:" + "0" * 64}, (404, "snapshot-unknown")),
        ({"inputs": [1]}, (422, "inputs-invalid")),
    ],
)
def test_a_working_trees_run_that_may_not_be_is_refused(door, agent, change, expected):
    assert (
        code(door.ask("POST", f"/v1/runs?repository={REPOSITORY}", json={**COPY, **change}, headers=agent)) == expected
    )


def test_a_working_tree_is_that_of_a_repository(door, agent):
    assert code(door.ask("POST", "/v1/runs", json=COPY, headers=agent)) == (400, "repository-invalid")


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/v1/runs"), ("DELETE", "/v1/runs/run_x"), ("GET", "/v1/playbooks/hold/runs")]
)
def test_other_methods_are_not_allowed(door, agent, method, path):
    assert code(door.ask(method, path, headers=agent)) == (405, "method-not-allowed")
