"""Which Host and Origin is admitted, and whose request it is."""

import ipaddress

import pytest

from registry.mcp.admission import admission, caller_address, is_direct_loopback, normal_origin

LOCAL = admission(listen_host="127.0.0.1", public_url=None, hosts=(), origins=())
PUBLIC = admission(listen_host="0.0.0.0", public_url="https://registry.acme.example", hosts=("inner:8080",), origins=())
TRUSTED = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8080", "localhost:1", "LOCALHOST", "[::1]:8080", "[::1]"])
def test_loopback_is_admitted_on_any_port(host: str):
    assert LOCAL.admits_host(host)


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "evil@localhost",
     "127.0.0.1 evil", "localhost:80@evil.example", "x" * 1_000],
)  # fmt: skip
def test_another_host_is_not_admitted(host: str | None):
    assert not LOCAL.admits_host(host)


def test_the_public_host_is_admitted_without_a_port_and_with_its_default_one():
    assert PUBLIC.admits_host("registry.acme.example")
    assert PUBLIC.admits_host("Registry.Acme.Example:443")


def test_a_configured_port_is_the_only_one():
    assert PUBLIC.admits_host("inner:8080")
    assert not PUBLIC.admits_host("inner:8081")


def test_a_listen_address_is_admitted():
    assert admission(listen_host="10.1.2.3", public_url=None, hosts=(), origins=()).admits_host("10.1.2.3:8080")
    assert admission(listen_host="fd00::1", public_url=None, hosts=(), origins=()).admits_host("[fd00::1]:8080")


def test_a_star_admits_every_host_and_no_other_origin():
    found = admission(listen_host="0.0.0.0", public_url=None, hosts=("*",), origins=())
    assert found.admits_host("any.example")
    assert found.admits_host(None)
    assert not found.admits_origin("https://evil.example", "any.example")


def test_a_program_sends_no_origin():
    assert LOCAL.admits_origin(None, "127.0.0.1:8080")


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "http://evil.example:8080", "null", "", "http://127.0.0.1:9", "http://127.0.0.1.evil.example",
     "file://", "http://user@127.0.0.1:8080", "http://127.0.0.1:port", "x" * 1_000],
)  # fmt: skip
def test_a_foreign_page_is_not_admitted(origin: str):
    assert not LOCAL.admits_origin(origin, "127.0.0.1:8080")


def test_a_page_of_the_registry_itself_is_admitted():
    assert LOCAL.admits_origin("http://127.0.0.1:8080", "127.0.0.1:8080")
    assert PUBLIC.admits_origin("https://registry.acme.example", "registry.acme.example")


def test_a_configured_origin_is_admitted_in_any_spelling():
    found = admission(listen_host="::1", public_url=None, hosts=(), origins=("https://Console.Acme.Example:443",))
    assert found.admits_origin("https://console.acme.example", "localhost:8080")


@pytest.mark.parametrize(
    ("text", "found"),
    [("https://A.Example", "https://a.example"), ("http://[::1]:80", "http://[::1]"), ("ftp://a", None), ("https://", None)],
)  # fmt: skip
def test_an_origin_has_one_spelling(text: str, found: str | None):
    assert normal_origin(text) == found


def test_without_a_trusted_proxy_the_peer_is_the_caller():
    assert caller_address("198.51.100.7", ["203.0.113.1"], ()) == "198.51.100.7"


def test_behind_a_trusted_proxy_the_last_address_that_is_none_counts():
    assert caller_address("10.0.0.2", ["1.2.3.4, 203.0.113.1, 10.0.0.9"], TRUSTED) == "203.0.113.1"


def test_what_was_made_up_before_the_proxys_own_word_counts_for_nothing():
    assert caller_address("10.0.0.2", ["127.0.0.1", "203.0.113.1"], TRUSTED) == "203.0.113.1"


def test_a_port_and_brackets_are_left_out():
    assert caller_address("10.0.0.2", ["[2001:db8::1]:443"], TRUSTED) == "2001:db8::1"
    assert caller_address("10.0.0.2", ["203.0.113.1:5000"], TRUSTED) == "203.0.113.1"


def test_rubbish_leaves_the_proxy_as_the_caller():
    assert caller_address("10.0.0.2", ["rubbish"], TRUSTED) == "10.0.0.2"
    assert caller_address(None, [], TRUSTED) == "unknown"


def test_a_caller_on_this_machine_is_one_whom_no_proxy_forwards():
    assert is_direct_loopback("127.0.0.1", forwarded=False)
    assert is_direct_loopback("::1", forwarded=False)
    assert not is_direct_loopback("127.0.0.1", forwarded=True)
    assert not is_direct_loopback("10.0.0.2", forwarded=False)
    assert not is_direct_loopback(None, forwarded=False)
