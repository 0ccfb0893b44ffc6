"""What each host's file is to say, byte for byte, and what becomes of one that says something already."""

import json
import tomllib

import pytest

from registry.cli.hosts import HOSTS, Configured, Endpoint, Kept, Token

REGISTRY = "https://registry.acme.example"
HERE = Endpoint(REGISTRY, "github.com/acme/payments")
URL = f"{REGISTRY}/mcp/r/github.com/acme/payments"
JSON_HOSTS = [host for host in HOSTS.values() if host.format == "JSON"]


def text_of(name: str, text: str | None, endpoint: Endpoint = HERE) -> str:
    made = HOSTS[name].configure(text, endpoint)
    assert isinstance(made, Configured), made
    return made.text


def entry_of(name: str, text: str | None, endpoint: Endpoint = HERE) -> dict:
    """Our server as a host finds it in its file."""
    host = HOSTS[name]
    made = text_of(name, text, endpoint)
    document = tomllib.loads(made) if host.format == "TOML" else json.loads(made)
    return document[host.servers]["playbooks"]


def reason(name: str, text: str) -> str:
    kept = HOSTS[name].configure(text, HERE)
    assert isinstance(kept, Kept)
    return kept.reason


NEW = {
    "claude-code": {"type": "http", "url": URL},
    "codex": {"url": URL},
    "cursor": {"url": URL},
    "gemini-cli": {"type": "http", "url": URL},
    "opencode": {"type": "remote", "url": URL},
    "vscode": {"type": "http", "url": URL},
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_new_file_has_the_url_and_no_secret(name: str):
    assert entry_of(name, None) == NEW[name]


AUTHORIZATION = {
    "claude-code": "Bearer ${REGISTRY_TOKEN:-}",
    "cursor": "Bearer ${env:REGISTRY_TOKEN}",
    "gemini-cli": "Bearer $REGISTRY_TOKEN",
    "opencode": "Bearer {env:REGISTRY_TOKEN}",
    "vscode": "Bearer ${env:REGISTRY_TOKEN}",
}


@pytest.mark.parametrize("name", AUTHORIZATION)
def test_a_token_is_named_in_the_syntax_of_the_host(name: str):
    found = entry_of(name, None, Endpoint(REGISTRY, HERE.repository, token=Token.WHERE_SET))
    assert found == {**NEW[name], "headers": {"Authorization": AUTHORIZATION[name]}}


def test_codex_names_the_variable_of_the_token():
    found = entry_of("codex", None, Endpoint(REGISTRY, HERE.repository, token=Token.NEEDED))
    assert found == {"url": URL, "bearer_token_env_var": "REGISTRY_TOKEN"}


def test_codex_names_no_token_that_is_only_nice_to_have_since_it_would_leave_the_server_out():
    assert entry_of("codex", None, Endpoint(REGISTRY, HERE.repository, token=Token.WHERE_SET)) == {"url": URL}


BRIDGES = {
    "claude-code": (["registry", "mcp", "--repo", "."], "${REGISTRY_TOKEN:-}"),
    "cursor": (["registry", "mcp", "--repo", "${workspaceFolder}"], "${env:REGISTRY_TOKEN}"),
    "gemini-cli": (["registry", "mcp", "--repo", "."], "$REGISTRY_TOKEN"),
    "vscode": (["registry", "mcp", "--repo", "${workspaceFolder}"], "${env:REGISTRY_TOKEN}"),
}
BRIDGE = Endpoint(REGISTRY, HERE.repository, bridge=True, token=Token.WHERE_SET)


@pytest.mark.parametrize("name", BRIDGES)
def test_a_bridge_is_started_with_the_registrys_url_in_its_environment(name: str):
    words, reference = BRIDGES[name]
    found = entry_of(name, None, BRIDGE)
    assert [found["command"], *found["args"]] == words
    assert found["env"] == {"REGISTRY_URL": REGISTRY, "REGISTRY_TOKEN": reference}
    assert "url" not in found


def test_codex_passes_a_bridge_the_variable_that_is_named():
    assert entry_of("codex", None, BRIDGE) == {
        "command": "registry",
        "args": ["mcp", "--repo", "."],
        "env_vars": ["REGISTRY_TOKEN"],
        "env": {"REGISTRY_URL": REGISTRY},
    }


def test_opencode_starts_a_bridge_in_its_own_words():
    assert entry_of("opencode", None, BRIDGE) == {
        "type": "local",
        "command": ["registry", "mcp", "--repo", "."],
        "environment": {"REGISTRY_URL": REGISTRY, "REGISTRY_TOKEN": "{env:REGISTRY_TOKEN}"},
    }


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("endpoint", [HERE, BRIDGE, Endpoint(REGISTRY, HERE.repository, token=Token.NEEDED)])
def test_a_second_time_changes_no_byte(name: str, endpoint: Endpoint):
    made = text_of(name, None, endpoint)
    assert text_of(name, made, endpoint) == made


@pytest.mark.parametrize("host", JSON_HOSTS, ids=lambda host: host.name)
def test_other_servers_and_settings_stay_where_they_were(host):
    text = f'{{\n    "theme": "dark",\n    "{host.servers}": {{\n        "theirs": {{"command": "npx"}}\n    }}\n}}\n'
    made = text_of(host.name, text)
    assert made.startswith(text.removesuffix("\n    }\n}\n"))
    assert json.loads(made)["theme"] == "dark"


def test_comments_in_toml_stay():
    text = '# mine\nmodel = "x" # keep\n\n[mcp_servers.theirs] # docs\ncommand = "npx"\n'
    assert text_of("codex", text) == f'{text}\n[mcp_servers.playbooks]\nurl = "{URL}"\n'


def test_a_toml_entry_of_ours_changes_in_its_place_and_keeps_what_was_added():
    text = (
        "[mcp_servers.playbooks] # ours\n# slow here\nstartup_timeout_sec = 30\n"
        f'url = "{REGISTRY}/mcp/r/github.com/acme/old" # where\n\n[features]\na = true\n'
    )
    assert text_of("codex", text) == text.replace("acme/old", "acme/payments")


def test_an_older_entry_of_ours_is_pointed_at_the_right_place_and_keeps_what_was_added():
    old = {"type": "http", "url": "https://old.example/mcp/r/github.com/acme/payments", "timeout": 5000}
    found = entry_of("claude-code", json.dumps({"mcpServers": {"playbooks": old}}))
    assert found == {"type": "http", "url": URL, "timeout": 5000}


def test_a_token_that_a_file_names_already_stays_named():
    old = {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${OTHER_TOKEN}", "X-Team": "a"}}
    assert entry_of("claude-code", json.dumps({"mcpServers": {"playbooks": old}})) == old


def test_a_secret_in_clear_is_replaced_by_the_name_of_its_variable():
    old = {"type": "http", "url": URL, "headers": {"authorization": "Bearer pbr_secret", "X-Team": "a"}}
    text = json.dumps({"mcpServers": {"playbooks": old}})
    made = text_of("claude-code", text, Endpoint(REGISTRY, HERE.repository, token=Token.NEEDED))
    assert "pbr_secret" not in made
    assert json.loads(made)["mcpServers"]["playbooks"]["headers"] == {
        "X-Team": "a",
        "Authorization": "Bearer ${REGISTRY_TOKEN:-}",
    }


def test_the_deprecated_word_of_gemini_is_understood_and_replaced():
    text = json.dumps({"mcpServers": {"playbooks": {"httpUrl": URL, "trust": True}}})
    assert entry_of("gemini-cli", text) == {"trust": True, "type": "http", "url": URL}


def test_a_bridge_stays_one_unless_another_form_is_asked_for():
    bridged = text_of("claude-code", None, Endpoint(REGISTRY, HERE.repository, bridge=True))
    assert text_of("claude-code", bridged) == bridged
    assert entry_of("claude-code", bridged, Endpoint(REGISTRY, HERE.repository, bridge=False)) == NEW["claude-code"]


@pytest.mark.parametrize("name", HOSTS)
def test_a_bridge_and_a_url_turn_into_each_other_and_leave_nothing_behind(name: str):
    by_url = text_of(name, None, Endpoint(REGISTRY, HERE.repository, token=Token.NEEDED))
    there = text_of(name, by_url, Endpoint(REGISTRY, HERE.repository, bridge=True, token=Token.NEEDED))
    back = text_of(name, there, Endpoint(REGISTRY, HERE.repository, bridge=False, token=Token.NEEDED))
    load = tomllib.loads if HOSTS[name].format == "TOML" else json.loads
    assert load(back) == load(by_url)


def test_our_server_under_another_name_is_found_by_where_it_leads():
    text = json.dumps({"mcpServers": {"company": {"type": "http", "url": URL}}})
    assert text_of("claude-code", text) == text


@pytest.mark.parametrize("theirs", [{"command": "npx"}, {"url": "https://elsewhere.example/mcp"}, {}, "x", 3])
def test_another_server_of_our_name_stays_and_is_told(theirs: object):
    assert "another server called playbooks" in reason("claude-code", json.dumps({"mcpServers": {"playbooks": theirs}}))


def test_the_registrys_own_endpoint_without_a_repository_is_ours():
    text = json.dumps({"mcpServers": {"playbooks": {"type": "http", "url": f"{REGISTRY}/mcp"}}})
    assert entry_of("claude-code", text) == NEW["claude-code"]


def test_another_name_can_be_asked_for():
    text = json.dumps({"mcpServers": {"playbooks": {"command": "npx"}}})
    made = text_of("claude-code", text, Endpoint(REGISTRY, HERE.repository, name="company-playbooks"))
    assert list(json.loads(made)["mcpServers"]) == ["playbooks", "company-playbooks"]


@pytest.mark.parametrize("text", ['{\n  // mine\n  "mcpServers": {}\n}', "[]", "{", '{"mcpServers": []}'])
def test_a_file_that_cannot_be_read_stays_and_is_told(text: str):
    assert "cannot be read as JSON" in reason("claude-code", text)


@pytest.mark.parametrize("text", ["mcp_servers = 3", "a = ", "[[mcp_servers]]\nx = 1\n"])
def test_a_toml_file_that_cannot_be_read_stays_and_is_told(text: str):
    assert "cannot be read as TOML" in reason("codex", text)


@pytest.mark.parametrize("text", ["", "\n", None])
def test_an_empty_file_is_as_none(text: str | None):
    assert text_of("claude-code", text) == text_of("claude-code", None)


def test_an_inline_table_of_servers_takes_ours_too():
    made = text_of("codex", 'mcp_servers = {theirs = {command = "npx"}} # all\nz = 1\n')
    assert tomllib.loads(made)["mcp_servers"] == {"theirs": {"command": "npx"}, "playbooks": {"url": URL}}
    assert "# all" in made


def test_opencode_of_the_second_version_has_its_servers_one_object_further_down():
    text = '{\n  "mcp": {\n    "servers": {\n      "theirs": {"type": "local", "command": ["x"]}\n    }\n  }\n}\n'
    found = json.loads(text_of("opencode", text))["mcp"]
    assert (list(found), list(found["servers"])) == (["servers"], ["theirs", "playbooks"])


def test_a_repository_with_odd_characters_is_one_path_of_the_url():
    endpoint = Endpoint(REGISTRY, "git.acme.example:8443/a b/ü")
    assert endpoint.url == f"{REGISTRY}/mcp/r/git.acme.example:8443/a%20b/%C3%BC"
    (server,) = HOSTS["claude-code"].find(text_of("claude-code", None, endpoint))
    assert (server.repository, server.registry) == (endpoint.repository, REGISTRY)


@pytest.mark.parametrize("name", HOSTS)
def test_a_file_is_read_as_it_was_written(name: str):
    written = Endpoint(REGISTRY, HERE.repository, token=Token.NEEDED)
    (server,) = HOSTS[name].find(text_of(name, None, written))
    assert (server.url, server.registry, server.repository) == (URL, REGISTRY, HERE.repository)
    assert (server.token, server.has_secret, server.is_off) == ("REGISTRY_TOKEN", False, False)


@pytest.mark.parametrize("name", HOSTS)
def test_a_bridge_is_read_as_it_was_written(name: str):
    (server,) = HOSTS[name].find(text_of(name, None, BRIDGE))
    assert (server.command, server.registry, server.token) == ("registry", REGISTRY, "REGISTRY_TOKEN")


def test_a_secret_and_a_switch_are_seen():
    entry = {"url": URL, "headers": {"AUTHORIZATION": "Bearer pbr_secret"}, "disabled": True}
    (server,) = HOSTS["cursor"].find(json.dumps({"mcpServers": {"playbooks": entry}}))
    assert (server.has_secret, server.is_off, server.token) == (True, True, None)


def test_an_entry_that_says_it_all_is_not_laid_out_anew():
    text = f'{{\n  "mcpServers": {{ "playbooks": {{ "url": "{URL}",  "type": "http" }} }}\n}}\n'
    assert text_of("claude-code", text) == text


def test_a_token_that_codex_is_told_of_stays_where_nobody_asks_for_one():
    text = f'[mcp_servers.playbooks]\nbearer_token_env_var = "MY_TOKEN"\nurl = "{URL}"\n'
    assert text_of("codex", text) == text
