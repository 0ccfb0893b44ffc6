"""`/mcp` of a served registry, asked by raw requests of both eras: results, errors, headers, and whose catalog it is."""

import json
from collections.abc import Iterator
from json import dumps
from pathlib import Path

import httpx
import pytest
from gitserver import GitRepo
from mcp_hosts import META, MODERN, body, call, legacy, modern, modern_request, problem
from serving import AS_ADMIN, Registry, serving
from world import playbook

from registry.mcp import tools

PAY = "github.com/acme/pay"
AT_PAY = f"/mcp/r/{PAY}"
SHIP = "github.com/acme/ship"
DIGEST = "sha256:" + "0" * 64


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry whose services `pay` and `ship` each have a roll-back of their own; deploy-gate is required."""
    folder: Path = tmp_path_factory.mktemp("mcp")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit(
        {
            "playbooks/roll-back.yaml": playbook(
                "roll-back",
                purpose="Roll back a bad release.\n  To the one before.".replace("\n  ", " "),
                tags="[release]",
            ),
            "playbooks/rotate-key.yaml": playbook("rotate-key", purpose="Rotate a signing key.", tags="[keys]"),
            "playbooks/gate.yaml": playbook("deploy-gate", purpose="Check before a deploy.", required="true"),
            "playbooks/restore.yaml": playbook(
                "restore-database",
                purpose="Restore a database from its backup.",
                inputs="{type: object, required: [region], properties: {region: {type: string, enum: [eu, us]}}}",
                requires="{secrets: [{name: BACKUP_KEY, purpose: Decrypt it.}]}",
            ),
        }
    )
    urls = {}
    for name in ("pay", "ship"):
        repo = GitRepo(folder / "git" / "acme" / name)
        repo.commit(
            {
                "playbooks/roll-back.yaml": playbook("roll-back", version="2.0.0", purpose=f"Roll back {name}."),
                "playbooks/gate.yaml": playbook("deploy-gate", version="9.9.9", purpose="A shortcut."),
            }
        )
        urls[name] = repo.url
    with serving(folder / "data", central_url=central.url) as found:
        for name, url in urls.items():
            found.register(f"github.com/acme/{name}", url)
        yield found


def error(answer: httpx.Response) -> tuple[int, int]:
    """(HTTP status, JSON-RPC code)."""
    return answer.status_code, answer.json()["error"]["code"]


# Both eras


def test_discover_says_the_version_the_instructions_and_how_long_that_holds(registry: Registry):
    result = modern(registry.client, "/mcp", "server/discover").json()["result"]
    assert result["supportedVersions"] == [MODERN]
    assert result["instructions"] == tools.INSTRUCTIONS
    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 3_600_000, "public")


def test_initialize_still_serves_hosts_of_2025(registry: Registry):
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    result = legacy(registry.client, AT_PAY, "initialize", params).json()["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == ("2025-06-18", "playbook-registry")
    assert result["instructions"] == tools.INSTRUCTIONS


def test_no_session_is_made(registry: Registry):
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    assert "mcp-session-id" not in legacy(registry.client, "/mcp", "initialize", params).headers


@pytest.mark.parametrize("ask", [modern, legacy])
def test_the_list_of_tools_is_the_same_for_every_repository_and_era(registry: Registry, ask):
    lists = [ask(registry.client, path, "tools/list").json()["result"]["tools"] for path in ("/mcp", AT_PAY)]
    assert lists[0] == lists[1] == [dict(tool) for tool in tools.TOOLS]


def test_the_list_of_tools_may_be_kept_for_an_hour_by_anybody(registry: Registry):
    result = modern(registry.client, "/mcp", "tools/list").json()["result"]
    assert (result["ttlMs"], result["cacheScope"], result["resultType"]) == (3_600_000, "public", "complete")


def test_a_legacy_call_answers_as_a_modern_one(registry: Registry):
    params = {"name": "get_playbook", "arguments": {"name": "roll-back"}}
    old = legacy(registry.client, AT_PAY, "tools/call", params).json()["result"]
    new = call(registry.client, AT_PAY, "get_playbook", {"name": "roll-back"})
    old["structuredContent"].pop("state"), new["structuredContent"].pop("state")
    assert old["structuredContent"] == new["structuredContent"]


# The tools


def test_search_is_what_http_finds(registry: Registry):
    found = body(registry.client, AT_PAY, "search_playbooks", {"task": "roll back the release", "limit": 3})
    over_http = registry.get("/v1/search", params={"repository": PAY, "q": "roll back the release", "limit": 3}).json()
    assert [row["digest"] for row in found["results"]] == [row["digest"] for row in over_http["results"]]
    assert found["snapshot"] == over_http["snapshot"]


def test_a_search_row_holds_no_contract(registry: Registry):
    (first, *_) = body(registry.client, "/mcp", "search_playbooks", {"task": "restore a database"})["results"]
    assert first["name"] == "restore-database"
    assert not {"contract", "steps", "inputs"} & first.keys()


def test_an_exact_name_comes_first(registry: Registry):
    found = body(registry.client, "/mcp", "search_playbooks", {"task": "Rotate Key"})
    assert found["results"][0]["name"] == "rotate-key"


def test_a_tag_raises_and_drops_nothing(registry: Registry):
    task = {"task": "release a signing key"}
    plain = body(registry.client, "/mcp", "search_playbooks", task)["results"]
    tagged = body(registry.client, "/mcp", "search_playbooks", {**task, "tags": ["No Such Tag", "release"]})["results"]
    assert {row["name"] for row in plain} == {row["name"] for row in tagged}


def test_an_empty_result_says_so_and_is_recorded(registry: Registry):
    found = body(registry.client, AT_PAY, "search_playbooks", {"task": "xylophone quokka"})
    assert (found["results"], found["weak"]) == ([], True)
    assert "go on without one" in found["note"]
    assert "xylophone quokka" in registry.log
    assert 'registry_mcp_calls_total{outcome="empty",tool="search_playbooks"}' in registry.get("/metrics").text


def test_an_empty_result_is_logged_on_one_line_and_without_credentials(registry: Registry):
    body(registry.client, "/mcp", "search_playbooks", {"task": "qqqq\nzzzz https://ada:hunter2@xxxx.example"})
    assert "hunter2" not in registry.log


def test_a_playbook_comes_with_its_contract_and_why_it_serves(registry: Registry):
    found = body(registry.client, AT_PAY, "get_playbook", {"name": "Roll Back"})
    assert (found["name"], found["version"], found["serves"]) == ("roll-back", "2.0.0", True)
    assert found["source"]["kind"] == "local"
    assert found["contract"]["steps"][0]["tool"] == "shell.run"
    assert "comes from the repository itself" in found["why"]


def test_the_contract_is_the_document_of_its_digest(registry: Registry):
    found = body(registry.client, AT_PAY, "get_playbook", {"name": "roll-back"})
    assert registry.get(f"/v1/documents/{found['digest']}").json() == found["contract"]


def test_an_exact_copy_says_that_it_does_not_serve(registry: Registry):
    central = body(registry.client, "/mcp", "get_playbook", {"name": "roll-back"})
    found = body(registry.client, AT_PAY, "get_playbook", {"name": "roll-back", "digest": central["digest"]})
    assert (found["digest"], found["serves"]) == (central["digest"], False)


def test_allowed_values_and_prerequisites_are_shown(registry: Registry):
    found = body(registry.client, "/mcp", "get_playbook", {"name": "restore-database"})
    assert found["allowed_values"] == {"region": ["eu", "us"]}
    assert ("secret", "BACKUP_KEY", None) in [(row["kind"], row["name"], row["met"]) for row in found["prerequisites"]]


def test_a_required_playbook_is_not_replaced_by_a_local_one(registry: Registry):
    found = body(registry.client, AT_PAY, "get_playbook", {"name": "deploy-gate"})
    assert (found["source"]["kind"], found["required"]) == ("central", True)


def test_a_run_opens_for_the_copy_that_serves(registry: Registry):
    found = body(registry.client, AT_PAY, "execute_playbook", {"name": "roll-back", "task": "undo"}, headers=AS_ADMIN)
    assert (found["version"], found["source"]["kind"]) == ("2.0.0", "local")
    assert found["procedure"]["steps"][0]["instruction"] == "Do it."
    over_http = registry.get(f"/v1/runs/{found['run_id']}", headers=AS_ADMIN).json()
    assert (over_http["snapshot"], over_http["repository"], over_http["task"]) == (found["snapshot"], PAY, "undo")


def test_an_open_run_gives_its_procedure_again(registry: Registry):
    opened = body(registry.client, AT_PAY, "execute_playbook", {"name": "roll-back"}, headers=AS_ADMIN)
    asked = {"name": "roll-back", "run_id": opened["run_id"]}
    again = body(registry.client, AT_PAY, "execute_playbook", asked, headers=AS_ADMIN)
    assert (again["run_id"], again["procedure"]) == (opened["run_id"], opened["procedure"])


def test_a_run_that_is_asked_for_at_another_repositorys_url_says_whose_it_is(registry: Registry):
    opened = body(registry.client, AT_PAY, "execute_playbook", {"name": "roll-back"}, headers=AS_ADMIN)
    asked = {"name": "roll-back", "run_id": opened["run_id"]}
    again = body(registry.client, f"/mcp/r/{SHIP}", "execute_playbook", asked, headers=AS_ADMIN)
    assert (again["state"]["repository"], again["snapshot"]) == (PAY, opened["snapshot"])


def test_a_run_is_resumed_with_its_own_name_and_nothing_else(registry: Registry):
    opened = body(registry.client, AT_PAY, "execute_playbook", {"name": "roll-back"}, headers=AS_ADMIN)
    for wrong in (
        {"name": "rotate-key"},
        {"name": "roll-back", "inputs": {"a": 1}},
        {"name": "roll-back", "task": "x"},
    ):
        found = problem(
            registry.client, AT_PAY, "execute_playbook", {**wrong, "run_id": opened["run_id"]}, headers=AS_ADMIN
        )
        assert found["type"] == "/problems/request-invalid"


def test_every_answer_says_how_current_it_is(registry: Registry):
    for tool, arguments in (("search_playbooks", {"task": "x"}), ("get_playbook", {"name": "roll-back"})):
        state = body(registry.client, AT_PAY, tool, arguments)["state"]
        assert (state["freshness"], state["registered"], state["repository"]) == ("fresh", True, PAY)
        assert 0 <= state["age_s"] < 60


# What a model can mend is a result


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("search_playbooks", {}, "request-invalid"),
        ("search_playbooks", {"task": "x", "limit": 0}, "request-invalid"),
        ("search_playbooks", {"task": "x" * 9_000}, "request-invalid"),
        ("get_playbook", {"name": "!!!"}, "name-invalid"),
        ("get_playbook", {"name": "nothing-like-it"}, "playbook-unknown"),
        ("get_playbook", {"name": "roll-back", "digest": DIGEST}, "playbook-unknown"),
        ("execute_playbook", {"name": "roll-back"}, "unauthenticated"),
    ],
)
def test_a_mistake_is_a_result_with_the_problem_of_http(registry: Registry, tool: str, arguments: dict, code: str):
    found = problem(registry.client, "/mcp", tool, arguments)
    assert found["type"] == f"/problems/{code}"
    assert found["detail"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"name": "restore-database", "inputs": {"region": "moon"}}, "inputs-invalid"),
        ({"name": "restore-database", "inputs": {}}, "inputs-invalid"),
        ({"name": "roll-back", "digest": DIGEST}, "refused"),
        ({"name": "nothing-like-it"}, "playbook-unknown"),
        ({"name": "roll-back", "run_id": "run_nobodys"}, "run-unknown"),
    ],
)
def test_a_run_that_may_not_open_is_a_result_too(registry: Registry, arguments: dict, code: str):
    found = problem(registry.client, "/mcp", "execute_playbook", arguments, headers=AS_ADMIN)
    assert found["type"] == f"/problems/{code}"


def test_every_violation_of_inputs_says_what_was_allowed(registry: Registry):
    arguments = {"name": "restore-database", "inputs": {"region": "moon"}}
    found = problem(registry.client, "/mcp", "execute_playbook", arguments, headers=AS_ADMIN)
    assert [(item["pointer"], item["allowed"]["enum"]) for item in found["violations"]] == [("/region", ["eu", "us"])]


def test_a_problem_says_whose_catalog_it_is_about(registry: Registry):
    found = problem(registry.client, AT_PAY, "get_playbook", {"name": "nothing-like-it"})
    assert found["state"]["repository"] == PAY
    assert found["snapshot"].startswith("sha256:")


def test_a_wrong_argument_has_the_snapshot_and_the_state_of_every_answer(registry: Registry):
    known = body(registry.client, AT_PAY, "search_playbooks", {"task": "x"})["snapshot"]
    found = problem(registry.client, AT_PAY, "search_playbooks", {"query": "x"})
    assert (found["snapshot"], found["state"]["repository"]) == (known, PAY)


def test_hostile_inputs_are_a_problem_and_no_crash(registry: Registry):
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    arguments = {"name": "restore-database", "inputs": {"region": deep}}
    found = problem(registry.client, "/mcp", "execute_playbook", arguments, headers=AS_ADMIN)
    assert found["status"] in {400, 413, 422}


# What a host does wrong is an error of the protocol


def test_an_unknown_tool_is_invalid_params(registry: Registry):
    answer = modern(registry.client, "/mcp", "tools/call", {"name": "search_playbook", "arguments": {}})
    assert error(answer) == (400, -32602)
    assert "did you mean search_playbooks?" in answer.json()["error"]["message"]


def test_an_unknown_method_is_404(registry: Registry):
    assert error(modern(registry.client, "/mcp", "tools/destroy")) == (404, -32601)


def test_a_method_of_the_other_era_is_404(registry: Registry):
    assert error(modern(registry.client, "/mcp", "ping")) == (404, -32601)


def test_an_unsupported_version_says_what_is_supported(registry: Registry):
    meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    answer = modern(registry.client, "/mcp", "tools/list", meta=meta, headers={"mcp-protocol-version": "2099-01-01"})
    assert error(answer) == (400, -32022)
    assert answer.json()["error"]["data"]["supported"] == [MODERN]


@pytest.mark.parametrize(
    "headers",
    [{"mcp-method": "tools/call"}, {"mcp-name": "get_playbook"}, {"mcp-name": ""}],
)
def test_a_header_that_contradicts_the_body_is_refused(registry: Registry, headers: dict):
    params = {"name": "search_playbooks", "arguments": {"task": "x"}}
    method = "tools/list" if "mcp-method" in headers else "tools/call"
    answer = modern(registry.client, "/mcp", method, {} if method == "tools/list" else params, headers=headers)
    assert error(answer) == (400, -32020)


def test_a_version_header_that_contradicts_the_body_is_refused(registry: Registry):
    meta = {"io.modelcontextprotocol/protocolVersion": "2025-06-18"}
    assert error(modern(registry.client, "/mcp", "tools/list", meta=meta)) == (400, -32020)


def test_an_envelope_without_capabilities_is_invalid(registry: Registry):
    sent, headers = modern_request("tools/list")
    del sent["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert error(registry.client.post("/mcp", json=sent, headers=headers)) == (400, -32602)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'"x"', b"[" * 50_000, b'{"jsonrpc": "2.0"}', b"\xff\xfe"]
)
@pytest.mark.parametrize("version", [MODERN, "2025-06-18"])
def test_a_body_that_is_no_request_is_400(registry: Registry, content: bytes, version: str):
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    answer = registry.client.post("/mcp", content=content, headers={**headers, "mcp-protocol-version": version})
    assert answer.status_code in {400, 202}
    assert answer.status_code == 400 or content == b'{"jsonrpc": "2.0"}'


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_there_is_nothing_but_post(registry: Registry, method: str):
    answer = registry.client.request(method, "/mcp", headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_body_over_the_limit_is_413(registry: Registry):
    answer = modern(
        registry.client, "/mcp", "tools/call", {"name": "search_playbooks", "arguments": {"task": "x" * 1_100_000}}
    )
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


def test_a_body_over_the_limit_in_chunks_is_413_too(registry: Registry):
    chunks = (b" " * 65_536 for _ in range(32))
    answer = registry.client.post("/mcp", content=chunks, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_another_content_type_is_400(registry: Registry):
    assert modern(registry.client, "/mcp", "tools/list", headers={"content-type": "text/plain"}).status_code == 400


def test_a_host_that_takes_no_json_is_406(registry: Registry):
    assert modern(registry.client, "/mcp", "tools/list", headers={"accept": "text/html"}).status_code == 406


# Whose catalog


@pytest.mark.parametrize(
    "spelling",
    [
        "github.com/acme/pay",
        "GitHub.com/Acme/Pay",
        "git@github.com:acme/pay.git",
        "https://github.com/acme/pay.git",
        "ssh://git@github.com:22/acme/pay",
        "github.com%2Facme%2Fpay",
        "github.com/acme/pay/",
    ],
)
def test_a_repository_is_spelt_as_in_http(registry: Registry, spelling: str):
    found = body(registry.client, f"/mcp/r/{spelling}", "get_playbook", {"name": "roll-back"})
    assert (found["version"], found["state"]["repository"]) == ("2.0.0", PAY)


def test_a_repository_may_stand_in_the_query(registry: Registry):
    found = body(registry.client, f"/mcp?repository={PAY}", "get_playbook", {"name": "roll-back"})
    assert found["version"] == "2.0.0"


def test_a_repository_that_nobody_registered_gets_centrals_and_is_told(registry: Registry):
    found = body(registry.client, "/mcp/r/github.com/acme/none", "get_playbook", {"name": "roll-back"})
    assert (found["version"], found["state"]["registered"]) == ("1.0.0", False)
    assert (found["state"]["repository"], "not registered" in found["state"]["note"]) == ("github.com/acme/none", True)


def test_mcp_alone_is_the_central_catalog(registry: Registry):
    found = body(registry.client, "/mcp", "get_playbook", {"name": "roll-back"})
    assert (found["version"], found["state"]["repository"]) == ("1.0.0", None)


@pytest.mark.parametrize("path", ["/mcp/r/a/%2e%2e/b", "/mcp/r/github.com/acme/%00", "/mcp/r/nohost"])
def test_a_path_that_names_no_repository_is_an_error(registry: Registry, path: str):
    answer = modern(registry.client, path, "tools/list")
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/repository-invalid")


@pytest.mark.parametrize("path", ["/mcp/x", "/mcpx", "/mcp/r"])
def test_another_path_is_404(registry: Registry, path: str):
    assert modern(registry.client, path, "tools/list").status_code == 404


def codex(url: str, *, as_text: bool = False) -> dict:
    said = {"turn_id": "1", "workspaces": {"/w": {"associated_remote_urls": {"origin": url}, "has_changes": True}}}
    return {"x-codex-turn-metadata": json.dumps(said) if as_text else said}


@pytest.mark.parametrize("as_text", [False, True])
def test_codex_is_told_the_catalog_of_its_working_copy(registry: Registry, as_text: bool):
    meta = codex("git@github.com:acme/pay.git", as_text=as_text)
    found = body(registry.client, "/mcp", "get_playbook", {"name": "roll-back"}, meta=meta)
    assert (found["version"], found["state"]["repository"]) == ("2.0.0", PAY)


def test_codex_over_the_legacy_era_is_told_it_too(registry: Registry):
    params = {"name": "get_playbook", "arguments": {"name": "roll-back"}, "_meta": codex(f"https://{PAY}")}
    found = legacy(registry.client, "/mcp", "tools/call", params).json()["result"]["structuredContent"]
    assert found["version"] == "2.0.0"


def test_a_url_that_names_a_repository_goes_before_what_codex_says(registry: Registry):
    found = body(registry.client, f"/mcp/r/{SHIP}", "get_playbook", {"name": "roll-back"}, meta=codex(f"https://{PAY}"))
    assert found["state"]["repository"] == SHIP


@pytest.mark.parametrize("url", ["/home/ada/pay", "nonsense", "ftp://github.com/acme/pay"])
def test_a_remote_that_is_no_repository_leaves_centrals_catalog_and_is_told(registry: Registry, url: str):
    found = body(registry.client, "/mcp", "get_playbook", {"name": "roll-back"}, meta=codex(url))
    assert (found["version"], found["state"]["repository"]) == ("1.0.0", None)
    assert "central catalog" in found["state"]["note"]


# Who may


def test_a_token_that_is_not_valid_is_refused_even_where_reading_is_open(registry: Registry):
    answer = modern(registry.client, "/mcp", "tools/list", headers={"authorization": "Bearer nobody"})
    assert (answer.status_code, answer.json()["type"]) == (401, "/problems/unauthenticated")
    assert answer.headers["www-authenticate"] == 'Bearer realm="registry", error="invalid_token"'


@pytest.mark.parametrize("value", ["", "Bearer"])
def test_a_host_whose_variable_is_not_set_reads_where_reading_is_open(registry: Registry, value: str):
    assert modern(registry.client, "/mcp", "tools/list", headers={"authorization": value}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1.evil.example"]
)
def test_a_foreign_page_is_403(registry: Registry, origin: str):
    answer = modern(registry.client, "/mcp", "tools/list", headers={"origin": origin})
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")


def test_a_page_of_the_registry_is_admitted(registry: Registry):
    own = str(registry.client.base_url).rstrip("/")
    assert modern(registry.client, "/mcp", "tools/list", headers={"origin": own}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""])
def test_a_name_that_was_bent_to_this_address_is_421(registry: Registry, host: str):
    answer = modern(registry.client, "/mcp", "tools/list", headers={"host": host})
    assert (answer.status_code, answer.json()["type"]) == (421, "/problems/misdirected")


def test_localhost_is_admitted(registry: Registry):
    assert modern(registry.client, "/mcp", "tools/list", headers={"host": "localhost:1234"}).status_code == 200


def test_answers_are_counted(registry: Registry):
    modern(registry.client, "/mcp", "tools/list")
    assert 'registry_requests_total{call="mcp",status="200"}' in registry.get("/metrics").text


def test_the_meta_of_the_tests_is_what_the_protocol_asks_for():
    assert META["io.modelcontextprotocol/protocolVersion"] == MODERN


# Hostile text


@pytest.mark.parametrize("ask", [modern, legacy])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_playbooks", '{"task": "\\ud800"}'),
        ("search_playbooks", '{"task": "x", "tags": ["\\udfff"]}'),
        ("search_playbooks", '{"task": "x", "\\ud800": 1}'),
        ("search_playbooks", '{"task": "x", "limit": NaN}'),
        ("search_playbooks", '{"task": "x", "limit": 1e308}'),
        ("search_playbooks", '{"task": "\\u0000\\u202e\\u2028"}'),
        ("get_playbook", '{"name": "\\ud800"}'),
        ("get_playbook", '{"name": "x", "digest": "\\ud800"}'),
        ("execute_playbook", '{"name": "roll-back", "task": "\\ud800"}'),
        ("execute_playbook", '{"name": "restore-database", "inputs": {"region": "\\ud800"}}'),
        ("execute_playbook", '{"name": "restore-database", "inputs": {"region": NaN}}'),
        ("execute_playbook", '{"name": "restore-database", "inputs": {"\\ud800": Infinity}}'),
        ("execute_playbook", '{"name": "roll-back", "run_id": "\\ud800"}'),
    ],
)
def test_hostile_text_is_a_result_and_no_crash(registry: Registry, ask, tool: str, arguments: str):
    class Client:
        """Sends the arguments as they are written, which no JSON encoder would."""

        def post(self, path: str, json: dict, headers: dict) -> httpx.Response:
            content = dumps(json).replace('"ARGUMENTS"', arguments)
            return registry.client.post(path, content=content, headers=headers)

    answer = ask(Client(), "/mcp", "tools/call", {"name": tool, "arguments": "ARGUMENTS"}, headers=AS_ADMIN)
    if answer.status_code == 400:
        # The parser of the older era takes no half of a surrogate pair.
        assert (ask, answer.json()["error"]["code"]) == (legacy, -32700)
        return
    assert answer.status_code == 200
    result = answer.json()["result"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert "/problems/internal" not in answer.text


def test_nothing_failed_inside_all_along(registry: Registry):
    assert '"level": "error"' not in registry.log
