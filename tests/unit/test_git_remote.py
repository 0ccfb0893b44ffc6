"""registry.git.remote: one parser lets a URL in, or says why not."""

import pytest

from registry.errors import AddressRefused
from registry.git.remote import RemotePolicy, parse_remote, redact

OPEN = RemotePolicy(allow_file_remotes=True, allow_insecure_http=True)
CLOSED = RemotePolicy()


@pytest.mark.parametrize(
    ("url", "spelled", "name"),
    [
        ("https://github.com/acme/app", "https://github.com/acme/app", "github.com/acme/app"),
        ("https://GitHub.com/Acme/App.git", "https://github.com/Acme/App.git", "github.com/acme/app"),
        ("https://github.com:443/acme/app", "https://github.com/acme/app", "github.com/acme/app"),
        ("https://github.com./acme/app", "https://github.com/acme/app", "github.com/acme/app"),
        ("https://git.acme.example:8443/a/b", "https://git.acme.example:8443/a/b", "git.acme.example:8443/a/b"),
        ("https://org@dev.azure.com/org/p/_git/r", "https://dev.azure.com/org/p/_git/r", "dev.azure.com/org/p/r"),
        ("ssh://git@github.com/acme/app.git", "ssh://git@github.com/acme/app.git", "github.com/acme/app"),
        ("ssh://git@github.com:22/acme/app", "ssh://git@github.com/acme/app", "github.com/acme/app"),
        ("git@github.com:acme/app.git", "git@github.com:acme/app.git", "github.com/acme/app"),
        ("https://192.0.2.7/acme/app", "https://192.0.2.7/acme/app", "192.0.2.7/acme/app"),
        ("https://[2001:DB8::1]/acme/app", "https://[2001:db8::1]/acme/app", "[2001:db8::1]/acme/app"),
    ],
)
def test_a_remote_is_spelled_anew_from_what_was_checked(url, spelled, name):
    remote = parse_remote(url, policy=CLOSED)
    assert (remote.url, remote.id) == (spelled, name)


TRICKS = [
    "",
    " https://github.com/acme/app",
    "https://github.com/acme/app\n",
    "https://github.com/acme/a\tpp",
    "https://github.com/acme/app\x00",
    "https://github.com/acme/app%0aHost:%20evil",
    "https://github.com/acme/app%00",
    "https://github.com\\@evil.example/a/b",
    "-oProxyCommand=touch /tmp/x",
    "--upload-pack=touch /tmp/x",
    "ext::sh -c touch% /tmp/x",
    "fd::17/foo",
    "https::https://github.com/acme/app",
    "git://github.com/acme/app",
    "git+ssh://git@github.com/acme/app",
    "ftp://github.com/acme/app",
    "javascript://github.com/acme/app",
    "/srv/git/app.git",
    "./app.git",
    "../app.git",
    "C:/git/app.git",
    "github.com/acme/app",
    "github.com:acme/app",
    "https://user:secret@github.com/acme/app",
    "https://:secret@github.com/acme/app",
    "https://a@b@github.com/acme/app",
    "https://%2doProxy@github.com/acme/app",
    "ssh://-oProxyCommand=x/acme/app",
    "ssh://-oProxyCommand=x@github.com/acme/app",
    "ssh://git@-oProxyCommand=x/acme/app",
    "ssh://git:secret@github.com/acme/app",
    "-x@github.com:acme/app",
    "git@-oProxyCommand=x:acme/app",
    "git@github.com:-x/app",
    "git@github.com:acme/-x",
    "ssh://git@github.com/-x/app",
    "https://github.com/%2dx/app",
    "https://0x7f.1/acme/app",
    "https://0x7f000001/acme/app",
    "https://2130706433/acme/app",
    "https://127.1/acme/app",
    "https://0177.0.0.1/acme/app",
    "https://127.0.0.0x1/acme/app",
    "https://127.0.0.1.1/acme/app",
    "https://256.0.0.1/acme/app",
    "git@2130706433:acme/app",
    "https://[::ffff:127.0.0.1]/acme/app",
    "https://[::ffff:7f00:1]/acme/app",
    "https://[fe80::1%25eth0]/acme/app",
    "https://[::1/acme/app",
    "https://\uff11\uff12\uff17.0.0.1/acme/app",
    "https://g\u0456thub.com/acme/app",
    "https://github.com:0/acme/app",
    "https://github.com:99999/acme/app",
    "https://github.com:port/acme/app",
    "https:///acme/app",
    "https://github.com",
    "https://github.com/acme",
    "https://github.com/acme/../app",
    "https://github.com/acme/%2e%2e/app",
    "https://github.com/acme//app",
    "https://github.com/acme/app?x=1",
    "https://github.com/acme/app#x",
    "https://github.com/acme/a pp",
    "https://github.com/" + "a/" * 2000 + "b",
    "file://host/srv/git/app",
    "file://",
    "file:///",
]


@pytest.mark.parametrize("url", TRICKS)
def test_a_trick_is_refused_even_where_file_and_http_are_allowed(url):
    with pytest.raises(AddressRefused):
        parse_remote(url, policy=OPEN)


@pytest.mark.parametrize("url", ["http://github.com/acme/app", "file:///srv/git/app"])
def test_http_and_file_are_refused_by_default(url):
    with pytest.raises(AddressRefused, match="REGISTRY_ALLOW_"):
        parse_remote(url, policy=CLOSED)


@pytest.mark.parametrize("url", ["http://github.com/acme/app", "file:///srv/git/app"])
def test_http_and_file_are_let_in_by_setting(url):
    assert parse_remote(url, policy=OPEN).url == url


def test_a_host_outside_the_list_is_refused():
    policy = RemotePolicy(allowed_hosts=frozenset({"git.acme.example"}))
    with pytest.raises(AddressRefused, match=r"evil\.example"):
        parse_remote("https://evil.example/a/b", policy=policy)


def test_a_listed_host_is_let_in_on_any_port():
    policy = RemotePolicy(allowed_hosts=frozenset({"git.acme.example"}))
    assert parse_remote("https://git.acme.example:8443/a/b", policy=policy).port == 8443


def test_a_host_listed_with_its_port_is_let_in_on_that_port_only():
    policy = RemotePolicy(allowed_hosts=frozenset({"git.acme.example:8443"}))
    with pytest.raises(AddressRefused):
        parse_remote("https://git.acme.example/a/b", policy=policy)


def test_a_subdomain_of_a_listed_host_is_refused():
    policy = RemotePolicy(allowed_hosts=frozenset({"acme.example"}))
    with pytest.raises(AddressRefused):
        parse_remote("https://x.acme.example/a/b", policy=policy)


def test_file_remotes_are_exempt_from_the_list_of_hosts():
    policy = RemotePolicy(allowed_hosts=frozenset({"acme.example"}), allow_file_remotes=True)
    assert parse_remote("file:///srv/git/app", policy=policy).scheme == "file"


def test_the_resolver_is_asked_for_host_and_port_and_its_refusal_stands():
    def refuse(host: str, port: int) -> list[str]:
        raise AddressRefused(f"{host} {port}")

    with pytest.raises(AddressRefused, match=r"git\.acme\.example 443"):
        parse_remote("https://git.acme.example/a/b", policy=CLOSED, resolve=refuse)


def test_a_refusal_never_repeats_a_password():
    with pytest.raises(AddressRefused) as caught:
        parse_remote("https://user:hunter2@github.com/acme/app", policy=CLOSED)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fatal: https://u:p@h.example/a", "fatal: https://***@h.example/a"),
        ("https://tok@h.example/a and ssh://git@h/x", "https://***@h.example/a and ssh://***@h/x"),
        ("https://u:p@ss@h.example/a", "https://***@h.example/a"),
        ("Authorization: Basic dTpw", "Authorization: ***"),
        ("PRIVATE-TOKEN: abc", "PRIVATE-TOKEN: ***"),
        ("https://h/a?access_token=abc&x=1", "https://h/a?access_token=***&x=1"),
        ("https://h.example/a@b", "https://h.example/a@b"),
    ],
)
def test_redaction_removes_credentials_and_nothing_else(text, shown):
    assert redact(text) == shown
