"""Who gets in, what a refusal looks like, and what is answered before anything was published."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from api_registry import ADMIN, AS_ADMIN, Bare, bare

from registry.api.app import ROUTES
from registry.api.calls import CALLS
from registry.api.kinds import KINDS

READS = (
    "/v1/catalogs",
    "/v1/catalogs/local/acme/payments",
    f"/v1/snapshots/sha256:{'0' * 64}",
    f"/v1/documents/sha256:{'0' * 64}",
    "/v1/playbooks/deploy-rollback",
    "/v1/playbooks/deploy-rollback/explain",
    "/v1/search?q=x",
    "/v1/repositories",
    "/v1/repositories/local/acme/central",
    "/v1/repositories/local/acme/central/problems",
    "/v1/repositories/local/acme/central/evaluation",
    "/v1/policy",
    "/v1/audit",
    "/v1/tokens",
    "/v1/runs",
    "/v1/runs/run_0",
    "/metrics",
)
REGISTRATION = {"url": "https://github.com/acme/payments.git", "team": "payments"}
WRITES = (
    ("PUT", "/v1/repositories/github.com/acme/payments", REGISTRATION),
    ("DELETE", "/v1/repositories/github.com/acme/known", None),
    ("POST", "/v1/repositories/local/acme/central/sync", None),
    ("POST", "/v1/repositories/local/acme/central/apply", {"commit": "0" * 40}),
    ("PUT", "/v1/policy/required/deploy-rollback", {"reason": "why"}),
    ("DELETE", "/v1/policy/required/deploy-rollback", None),
    ("PUT", "/v1/policy/waivers/deploy-rollback?repository=a.example/b/c", {"until": "2999-01-01", "reason": "why"}),
    ("DELETE", "/v1/policy/waivers/deploy-rollback?repository=a.example/b/c", None),
    ("PUT", f"/v1/policy/withdrawn/deploy-rollback?digest=sha256:{'0' * 64}", {"reason": "why"}),
    ("DELETE", f"/v1/policy/withdrawn/deploy-rollback?digest=sha256:{'0' * 64}", None),
    ("POST", "/v1/policy/accept", {"commit": "0" * 40}),
    ("POST", "/v1/tokens", {"name": "a", "scopes": ["admin"]}),
    ("DELETE", "/v1/tokens/abc", None),
    ("POST", "/v1/playbooks/deploy-rollback/runs", {"inputs": {}}),
    ("POST", "/v1/runs?repository=a.example/b/c", {"name": "a"}),
)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    with bare(tmp_path_factory.mktemp("closed"), anonymous_read=False) as registry:
        yield registry


@pytest.fixture(scope="module")
def open_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    with bare(tmp_path_factory.mktemp("open"), anonymous_read=True) as registry:
        registry.register_known()
        yield registry


@pytest.mark.parametrize("path", READS)
def test_reading_needs_a_token_where_it_is_not_open(closed: Bare, path: str) -> None:
    answer = closed.ask("GET", path)
    assert (answer.status_code, answer.json()["type"]) == (401, "/problems/unauthenticated")
    assert answer.headers["www-authenticate"] == 'Bearer realm="registry"'


@pytest.mark.parametrize("path", [*READS, "/healthz", "/no/such/route"])
def test_an_invalid_token_is_401_even_where_reading_is_open(open_registry: Bare, path: str) -> None:
    answer = open_registry.ask("GET", path, headers={"Authorization": "Bearer pbr_nonsense"})
    assert (answer.status_code, answer.json()["type"]) == (401, "/problems/unauthenticated")
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


@pytest.mark.parametrize("value", ["", "Bearer", "bearer  ", " BEARER "])
def test_a_header_that_carries_no_token_is_as_none(open_registry: Bare, closed: Bare, value: str) -> None:
    headers = {"Authorization": value}
    assert open_registry.ask("GET", "/v1/repositories", headers=headers).status_code == 200
    refused = closed.ask("GET", "/v1/repositories", headers=headers)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="registry"')


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_header_that_carries_no_token_opens_no_write(
    open_registry: Bare, method: str, path: str, body: object
) -> None:
    assert open_registry.ask(method, path, json=body, headers={"Authorization": "Bearer "}).status_code == 401


@pytest.mark.parametrize("value", ["${REGISTRY_TOKEN}", "$REGISTRY_TOKEN", "{env:REGISTRY_TOKEN}", "${env:TOKEN}"])
def test_a_variable_that_a_host_did_not_replace_is_told_as_that(open_registry: Bare, value: str) -> None:
    answer = open_registry.ask("GET", "/v1/repositories", headers={"Authorization": f"Bearer {value}"})
    assert (answer.status_code, "did not replace" in answer.json()["detail"]) == (401, True)


@pytest.mark.parametrize("value", ["Basic YTpi", "Basic", "bearer\txyz", "Bearer, Bearer", "Bearer " + "x" * 5000])
def test_a_header_that_is_no_bearer_token_is_401(open_registry: Bare, value: str) -> None:
    assert open_registry.ask("GET", "/v1/repositories", headers={"Authorization": value}).status_code == 401


def test_a_caller_is_told_what_its_token_says(closed: Bare) -> None:
    made = closed.token("playbook:execute", "catalog:read", team="payments")
    told = closed.ask("GET", "/v1/whoami", headers=made).json()
    assert told == {**told, "team": "payments", "scopes": ["catalog:read", "playbook:execute"], "reads": True}
    assert told["principal"]


def test_a_caller_that_may_not_read_is_told_so(closed: Bare) -> None:
    told = closed.ask("GET", "/v1/whoami", headers=closed.token("playbook:execute")).json()
    assert (told["scopes"], told["reads"]) == (["playbook:execute"], False)


def test_a_caller_without_a_token_is_told_whether_reading_is_open(open_registry: Bare, closed: Bare) -> None:
    nobody = {"principal": None, "team": None, "scopes": []}
    assert open_registry.ask("GET", "/v1/whoami").json() == {**nobody, "reads": True}
    assert closed.ask("GET", "/v1/whoami").json() == {**nobody, "reads": False}


@pytest.mark.parametrize("path", READS)
def test_two_authorization_headers_are_no_token(open_registry: Bare, path: str) -> None:
    headers = [("Authorization", f"Bearer {ADMIN}"), ("Authorization", f"Bearer {ADMIN}")]
    assert open_registry.ask("GET", path, headers=headers).status_code == 401


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_no_write_is_open(open_registry: Bare, method: str, path: str, body: object) -> None:
    answer = open_registry.ask(method, path, json=body)
    assert (answer.status_code, answer.json()["type"]) == (401, "/problems/unauthenticated")


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_reader_may_write_nothing(open_registry: Bare, method: str, path: str, body: object) -> None:
    answer = open_registry.ask(method, path, json=body, headers=open_registry.token("catalog:read"))
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")


def test_every_write_is_in_the_list_above() -> None:
    listed = {(method, path.partition("?")[0]) for method, path, _ in WRITES}
    described = [call for call in CALLS if call.method != "GET" and call.path not in {"/v1/search", "/v1/preview"}]
    assert len(listed) == len(described)


def test_a_token_for_something_else_is_not_worse_than_none(open_registry: Bare) -> None:
    headers = open_registry.token("policy:write")
    assert open_registry.ask("GET", "/v1/repositories", headers=headers).status_code == 200


def test_a_token_without_the_readers_scope_reads_nothing_where_reading_is_closed(closed: Bare) -> None:
    answer = closed.ask("GET", "/v1/repositories", headers=closed.token("repository:write", team="payments"))
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")


def test_a_platform_token_reads_the_audit_log_and_no_tokens(closed: Bare) -> None:
    headers = closed.token("policy:write")
    assert closed.ask("GET", "/v1/audit", headers=headers).status_code == 200
    assert closed.ask("GET", "/v1/tokens", headers=headers).status_code == 403


def test_a_tokens_value_is_shown_once_and_never_cached(closed: Bare) -> None:
    made = closed.ask("POST", "/v1/tokens", json={"name": "ci", "scopes": ["catalog:read"]}, headers=AS_ADMIN)
    listed = closed.ask("GET", "/v1/tokens", headers=AS_ADMIN)

    assert made.headers["cache-control"] == listed.headers["cache-control"] == "no-store"
    assert made.json()["id"] in {item["id"] for item in listed.json()["items"]}
    assert made.json()["token"] not in listed.text


def test_a_revoked_token_opens_nothing(closed: Bare) -> None:
    made = closed.ask("POST", "/v1/tokens", json={"name": "ci", "scopes": ["catalog:read"]}, headers=AS_ADMIN).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert closed.ask("GET", "/v1/repositories", headers=headers).status_code == 200
    assert closed.ask("DELETE", f"/v1/tokens/{made['id']}", headers=AS_ADMIN).status_code == 204
    assert closed.ask("GET", "/v1/repositories", headers=headers).status_code == 401
    assert (
        closed.ask("DELETE", f"/v1/tokens/{made['id']}", headers=AS_ADMIN).json()["type"] == "/problems/token-unknown"
    )


def test_an_unknown_scope_is_refused(closed: Bare) -> None:
    answer = closed.ask("POST", "/v1/tokens", json={"name": "ci", "scopes": ["catalog:raed"]}, headers=AS_ADMIN)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/request-invalid")


@pytest.mark.parametrize("path", ["/healthz", "/schema/openapi.json", "/problems/conflict"])
def test_what_is_read_before_one_could_have_a_token_is_open(closed: Bare, path: str) -> None:
    assert closed.ask("GET", path).status_code == 200


@pytest.mark.parametrize("path", ["/v1/catalogs", "/v1/catalogs/local/acme/anything", "/v1/search?q=x", "/readyz"])
def test_before_the_first_publication_the_answer_is_503_and_never_an_empty_catalog(
    open_registry: Bare, path: str
) -> None:
    answer = open_registry.ask("GET", path)
    assert (answer.status_code, answer.json()["type"]) == (503, "/problems/unavailable")
    assert int(answer.headers["retry-after"]) >= 1


def test_a_sync_that_is_not_done_is_202(open_registry: Bare) -> None:
    answer = open_registry.ask("POST", "/v1/repositories/local/acme/central/sync", headers=AS_ADMIN)
    assert (answer.status_code, answer.json()["sync"]["state"]) == (202, "pending")


def test_a_preference_that_was_used_is_named(open_registry: Bare) -> None:
    headers = {**AS_ADMIN, "Prefer": "respond-async, wait=0"}
    answer = open_registry.ask("POST", "/v1/repositories/local/acme/central/sync", headers=headers)
    assert answer.headers["preference-applied"] == "wait=0"


@pytest.mark.parametrize(
    "path", ["/", "/nope", "/v1", "/v1/repositories/a.example/b/c/diff", "/v1/catalogs/a.example/b/c/diff"]
)
def test_an_unknown_route_is_a_problem(open_registry: Bare, path: str) -> None:
    answer = open_registry.ask("GET", path)
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/route-unknown")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/v1/catalogs/a.example/b/c", {"GET", "HEAD"}),
        ("DELETE", "/v1/search", {"GET", "HEAD", "POST"}),
        ("PATCH", "/v1/policy", {"GET", "HEAD"}),
        ("PUT", "/v1/repositories", {"GET", "HEAD"}),
    ],
)
def test_a_method_that_a_path_does_not_take_is_a_problem(
    open_registry: Bare, method: str, path: str, allowed: set[str]
) -> None:
    answer = open_registry.ask(method, path)
    assert (answer.status_code, answer.json()["type"]) == (405, "/problems/method-not-allowed")
    assert allowed <= {item.strip() for item in answer.headers["allow"].split(",")}


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("/v1/catalogs?veiw=full", "view"),
        ("/v1/search?qq=x", "q"),
        ("/v1/repositories?staet=ok", "state"),
        ("/v1/policy?x=1", ""),
    ],
)
def test_a_misspelt_parameter_is_told(open_registry: Bare, path: str, nearest: str) -> None:
    answer = open_registry.ask("GET", path)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/request-invalid")
    assert nearest in answer.json()["detail"]


def test_a_misspelt_member_is_told_with_the_nearest_one(open_registry: Bare) -> None:
    body = {"url": "https://github.com/acme/payments", "taem": "payments"}
    answer = open_registry.ask("PUT", "/v1/repositories/github.com/acme/payments", json=body, headers=AS_ADMIN)
    assert answer.status_code == 400
    assert "did you mean team?" in answer.json()["detail"]


@pytest.mark.parametrize("content", [b"", b"[]", b"nul", b'{"reason": NaN}', b"\xff", b"[" * 100_000, b'"x"'])
def test_a_body_of_the_wrong_shape_is_refused(open_registry: Bare, content: bytes) -> None:
    headers = {**AS_ADMIN, "Content-Type": "application/json"}
    answer = open_registry.ask("PUT", "/v1/policy/required/x", content=content, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/request-invalid")


def test_only_json_is_read(open_registry: Bare) -> None:
    headers = {**AS_ADMIN, "Content-Type": "text/plain"}
    answer = open_registry.ask("PUT", "/v1/policy/required/x", content=b'{"reason": "x"}', headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/request-invalid")


def test_a_secret_in_a_url_does_not_come_back(open_registry: Bare) -> None:
    body = {"url": "https://user:hunter2secret@git.example/other/thing", "team": "payments"}
    answer = open_registry.ask("PUT", "/v1/repositories/git.example/acme/app", json=body, headers=AS_ADMIN)
    assert answer.status_code >= 400
    assert "hunter2secret" not in answer.text


@pytest.mark.parametrize(
    "spelling",
    ["https://user:hunter2secret@", "user:hunter2secret@ho st/a/b", "https://u:hunter2secret" + "x" * 90 + "@h"],
)
def test_a_secret_in_a_spelling_does_not_come_back(open_registry: Bare, spelling: str) -> None:
    answer = open_registry.ask("GET", "/v1/catalogs", params={"repository": spelling})
    assert answer.status_code == 400
    assert "hunter2secret" not in answer.text


def test_what_nobody_foresaw_is_a_500_that_tells_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with bare(tmp_path, anonymous_read=True) as registry:
        registry.store.close()
        (tmp_path / "data" / "registry.db").rename(tmp_path / "data" / "away.db")
        (tmp_path / "data" / "registry.db").mkdir()
        answer = registry.ask("GET", f"/v1/documents/sha256:{'0' * 64}")

    assert answer.status_code in {500, 503}
    assert "Traceback" not in answer.text
    assert str(tmp_path) not in answer.text
    assert ADMIN not in capfd.readouterr().out


def test_every_answer_says_nosniff(open_registry: Bare) -> None:
    for path in ("/v1/repositories", "/v1/catalogs", "/nope", "/healthz", "/problems/internal"):
        assert open_registry.ask("GET", path).headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("code", KINDS)
def test_every_problem_type_leads_to_a_page(open_registry: Bare, code: str) -> None:
    answer = open_registry.ask("GET", f"/problems/{code}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert code in answer.text


@pytest.mark.parametrize("file", ["playbook.v1.json", "policy.v1.json"])
def test_the_schemas_of_the_formats_are_served(closed: Bare, file: str) -> None:
    answer = closed.ask("GET", f"/schemas/{file}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/schema+json")
    assert answer.json()["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize("file", ["other.json", "..%2Fnative.py", "%2e%2e"])
def test_no_other_file_is_served_as_a_schema(closed: Bare, file: str) -> None:
    assert closed.ask("GET", f"/schemas/{file}").status_code == 404


def test_the_openapi_document_has_every_route_and_every_hot_call(open_registry: Bare) -> None:
    paths = open_registry.ask("GET", "/schema/openapi.json").json()["paths"]
    described = {(method.upper(), path) for path, item in paths.items() for method in item if method != "head"}
    routed = {
        (method, path.replace(":str}", "}"))
        for route in ROUTES
        for method in route.http_methods
        for path in route.paths
    }
    hot = {
        *(("GET", f"/v1/{kind}") for kind in ("catalogs", "catalogs/{repository}", "search")),
        ("GET", "/v1/snapshots/{digest}"),
        ("GET", "/v1/documents/{digest}"),
        ("GET", "/v1/blobs/{digest}"),
        ("POST", "/v1/search"),
    }
    skills = {
        ("GET", f"{below}/.well-known/agent-skills/{file}")
        for below in ("", "/skills/r/{repository}")
        for file in ("index.json", "{name}/SKILL.md", "{name}.zip")
    }
    assert described == routed | hot | skills
