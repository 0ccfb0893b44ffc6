"""Whatever stands in a host's file: ours comes in, all else stays, and a second time changes no byte."""

import json
import tomllib

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from registry.cli.hosts import HOSTS, Configured, Endpoint, Kept, Token
from registry.cli.json_edit import put

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
KEYS = st.text(st.characters(codec="utf-8"), max_size=6)
ENDPOINTS = st.builds(
    Endpoint,
    st.just("https://registry.acme.example"),
    st.sampled_from(["github.com/acme/payments", "git.acme.example:8443/a b/ü", "github.com/acme/mono/-/services/pay"]),
    bridge=st.sampled_from([None, True, False]),
    token=st.sampled_from(Token),
)


def without(document: dict, path: tuple[str, ...]) -> dict:
    """A document without the member at a path, and without what is empty then."""
    found = json.loads(json.dumps(document))
    here = found
    for key in path[:-1]:
        here = here.get(key, {}) if isinstance(here, dict) else {}
    if isinstance(here, dict):
        here.pop(path[-1], None)
    return {key: value for key, value in found.items() if value != {}}


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from([None, 1, 2, 4, "\t"]), KEYS, KEYS, VALUES)
def test_a_member_is_put_in_and_everything_else_means_what_it_meant(document, indent, first, second, value):
    if not isinstance(document.get(first, {}), dict):
        return
    text = json.dumps(document, indent=indent)
    made = put(text, [first, second], value)
    assert json.loads(made)[first][second] == value
    assert without(json.loads(made), (first, second)) == without(document, (first, second))
    assert put(made, [first, second], value) == made


@given(
    st.sampled_from([host for host in HOSTS.values() if host.format == "JSON"]),
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.sampled_from([None, 2, 4, "\t"]),
    ENDPOINTS,
)
def test_a_json_file_takes_our_server_once_and_keeps_the_rest(host, document, servers, indent, endpoint):
    document = {**document, host.servers: servers}
    text = json.dumps(document, indent=indent)
    made = host.configure(text, endpoint)
    if isinstance(made, Kept):
        return
    grouped = host.may_group and isinstance(servers.get("servers"), dict) and "type" not in servers["servers"]
    path = (host.servers, *(("servers",) if grouped else ()), made.after.name)
    assert without(json.loads(made.text), path) == without(document, path)
    again = host.configure(made.text, endpoint)
    assert isinstance(again, Configured)
    assert (again.text, again.before) == (made.text, made.after)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=6)
TOML_VALUES = st.integers(-(2**60), 2**60) | st.booleans() | NAMES | st.lists(st.integers(0, 9), max_size=3)
TABLES = st.dictionaries(NAMES, TOML_VALUES, max_size=3)


@given(TABLES, st.dictionaries(NAMES, TABLES, max_size=3), ENDPOINTS, st.sampled_from(["\n", "\r\n"]))
def test_a_toml_file_takes_our_server_once_and_keeps_the_rest(top, servers, endpoint, newline):
    if "mcp_servers" in top:
        return
    text = "# mine\n" + tomlkit.dumps({**top, "mcp_servers": servers, "z": {"a": 1}})
    text = text.replace("\n", newline)
    made = HOSTS["codex"].configure(text, endpoint)
    assert isinstance(made, Configured)
    kept = tomllib.loads(made.text)
    assert kept["mcp_servers"].pop(made.after.name)
    assert kept == {**top, "mcp_servers": servers, "z": {"a": 1}}
    assert "# mine" in made.text
    again = HOSTS["codex"].configure(made.text, endpoint)
    assert isinstance(again, Configured)
    assert again.text == made.text
