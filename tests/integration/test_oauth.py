"""A served registry that takes an issuer's tokens beside its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from gitserver import GitRepo
from issuer import AUDIENCE, ISSUER, Issuer, showing
from mcp_hosts import body, modern, problem
from serving import AS_ADMIN, Registry, refusal, serving
from world import playbook

from registry.oauth import keys

METADATA = "https://registry.acme.example/.well-known/oauth-protected-resource/mcp"
OURS = Issuer()


def bearer(**claims: object) -> dict[str, str]:
    return {"authorization": f"Bearer {OURS.token(**claims)}"}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder: Path = tmp_path_factory.mktemp("oauth")
    central = GitRepo(folder / "git" / "acme" / "playbooks")
    central.commit({"playbooks/roll-back.yaml": playbook("roll-back")})
    service = GitRepo(folder / "git" / "acme" / "pay")
    service.commit({"playbooks/pay.yaml": playbook("pay")})
    with (
        showing(OURS) as url,
        serving(
            folder / "data",
            central_url=central.url,
            anonymous_read=False,
            public_url="https://registry.acme.example",
            oauth_issuer=ISSUER,
            oauth_jwks_url=url,
        ) as found,
    ):
        found.register("github.com/acme/pay", service.url, team="payments")
        yield found


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_an_issuers_token_reads_over_mcp(registry: Registry, algorithm: str):
    found = body(registry.client, "/mcp", "get_playbook", {"name": "roll-back"}, headers=bearer(algorithm=algorithm))
    assert found["name"] == "roll-back"


def test_a_token_of_the_registry_works_beside_it(registry: Registry):
    assert body(registry.client, "/mcp", "get_playbook", {"name": "roll-back"}, headers=AS_ADMIN)


def test_an_issuers_token_reads_over_http(registry: Registry):
    assert registry.get("/v1/catalogs", headers=bearer()).status_code == 200


def test_a_run_is_the_subjects(registry: Registry):
    opened = body(registry.client, "/mcp", "execute_playbook", {"name": "roll-back"}, headers=bearer())
    assert opened["run"]["principal"] == "oauth:ada@acme.example"


def test_what_the_scopes_do_not_say_is_forbidden(registry: Registry):
    found = problem(
        registry.client, "/mcp", "execute_playbook", {"name": "roll-back"}, headers=bearer(scope="catalog:read")
    )
    assert found["type"] == "/problems/forbidden"


def test_who_reads_a_playbook_is_told_that_it_may_not_run_it(registry: Registry):
    headers = bearer(scope="catalog:read")
    found = body(registry.client, "/mcp", "get_playbook", {"name": "roll-back"}, headers=headers)
    assert found["prerequisites"][0]["met"] is False
    assert "playbook:execute" in found["prerequisites"][0]["note"]


def test_admin_is_not_believed(registry: Registry):
    assert registry.get("/v1/tokens", headers=bearer(scope="admin catalog:read")).status_code == 403


def test_the_team_claim_gives_the_teams_rights(registry: Registry):
    path = "/v1/repositories/github.com/acme/pay/sync"
    write = "catalog:read repository:write"
    assert registry.client.post(path, headers=bearer(scope=write, team="payments")).status_code in {200, 202}
    assert registry.client.post(path, headers=bearer(scope=write, team="others")).status_code == 403


def test_without_a_token_a_host_is_told_where_to_get_one(registry: Registry):
    answer = modern(registry.client, "/mcp/r/github.com/acme/pay", "tools/list")
    assert answer.status_code == 401
    scopes = 'scope="catalog:read playbook:execute"'
    assert answer.headers["www-authenticate"] == f'Bearer realm="registry", {scopes}, resource_metadata="{METADATA}"'


def test_a_token_that_is_not_valid_is_told_so(registry: Registry):
    for wrong in (bearer(aud="https://other.example"), bearer(exp=1), {"authorization": "Bearer pbr_nothing"}):
        answer = modern(registry.client, "/mcp", "tools/list", headers=wrong)
        assert answer.status_code == 401
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_token_without_the_readers_scope_is_told_which_it_needs(registry: Registry):
    answer = modern(registry.client, "/mcp", "tools/list", headers=bearer(scope="repository:write"))
    assert answer.status_code == 403
    assert 'error="insufficient_scope", scope="catalog:read playbook:execute"' in answer.headers["www-authenticate"]


@pytest.mark.parametrize("path", ["", "/mcp", "/mcp/r/github.com/acme/pay"])
def test_metadata_is_open_and_of_one_resource(registry: Registry, path: str):
    found = registry.get(f"/.well-known/oauth-protected-resource{path}")
    assert found.status_code == 200
    assert (found.json()["resource"], found.json()["authorization_servers"]) == (AUDIENCE, [ISSUER])


def test_other_well_known_paths_are_not_there(registry: Registry):
    assert registry.get("/.well-known/oauth-protected-resource/other").status_code == 404
    assert registry.get("/.well-known/nothing").status_code == 404
    assert registry.client.post("/.well-known/oauth-protected-resource").status_code == 405


def test_no_token_is_logged(registry: Registry):
    headers = bearer(exp=1)
    modern(registry.client, "/mcp", "tools/list", headers=headers)
    assert headers["authorization"].removeprefix("Bearer ") not in registry.log


def test_keys_come_from_a_real_server_and_within_limits(monkeypatch: pytest.MonkeyPatch):
    with showing(OURS) as url:
        assert keys.fetch(url) == OURS.jwks()
        monkeypatch.setattr(keys, "JWKS_BYTES_MAX", 10)
        with pytest.raises(ValueError, match="over 10 bytes"):
            keys.fetch(url)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"oauth_issuer": ISSUER}, "REGISTRY_OAUTH_JWKS_URL"),
        ({"oauth_issuer": ISSUER, "oauth_jwks_url": "https://keys.example"}, "REGISTRY_PUBLIC_URL"),
        ({"oauth_issuer": "login", "oauth_jwks_url": "https://keys.example"}, "REGISTRY_OAUTH_ISSUER"),
        (
            {
                "oauth_issuer": ISSUER,
                "oauth_jwks_url": "http://keys.example",
                "public_url": "https://registry.acme.example",
                "allow_insecure_http": False,
            },
            "must be https",
        ),
        ({"mcp_allowed_origins": "console.acme.example"}, "REGISTRY_MCP_ALLOWED_ORIGINS"),
        ({"trusted_proxies": "ingress"}, "REGISTRY_TRUSTED_PROXIES"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named_and_exits_2(tmp_path: Path, settings: dict, word: str):
    code, printed = refusal(tmp_path / "data", central_url="https://git.acme.example/acme/playbooks", **settings)
    assert code == 2
    assert word in printed
