"""Remotes: the one parser that every URL of a git repository passes before anything connects to it.

The list of tricks that must fail here is git.md, "What goes wrong".
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from registry.errors import AddressRefused, RepositoryInvalid
from registry.names import repository_id

URL_LENGTH_MAX = 2048
DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22}

Resolve = Callable[[str, int], Iterable[str]]

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/]*)(?P<path>/.*)?", re.DOTALL)
_SCP = re.compile(r"(?P<user>[A-Za-z0-9][A-Za-z0-9._-]*)@(?P<host>[^/:@\[\]]+):(?P<path>[^/:-][^:]*|/[^/].*)")
_AUTHORITY = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^:@\[\]]*)(?::(?P<port>[0-9]{1,5}))?")
_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029]")
_SECRET_IN_URL = re.compile(r"([A-Za-z0-9+.-]{1,16}://)[^\s/'\"]*@")
_SECRET_IN_HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization|private-token|cookie)(\s*[:=]\s*)[^\r\n]+")
_SECRET_IN_QUERY = re.compile(r"(?i)([?&](?:access_token|private_token|token|password|key)=)[^&\s'\"]+")


@dataclass(frozen=True, slots=True)
class RemotePolicy:
    """Which remotes may be read.

    `allowed_hosts` holds lower-case host names, or `host:port` for one port only; empty allows any host. File remotes
    have no host, so the list does not concern them. On `case_sensitive_hosts` two ids that differ in case are two
    repositories.
    """

    allowed_hosts: frozenset[str] = frozenset()
    allow_file_remotes: bool = False
    allow_insecure_http: bool = False
    case_sensitive_hosts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote that passed the parser.

    `url` is spelled anew from the parts that were checked, without user or password (SSH keeps its user), so that no
    second parser reads what the first one did not. `port` is None for the scheme's own. `host` of a file remote is
    empty.
    """

    url: str
    id: str
    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def origin(self) -> str:
        """`scheme://host:port`, for pacing and for what is known of a host."""
        return f"{self.scheme}://{self.host}:{self.port or DEFAULT_PORTS.get(self.scheme, 0)}"


def parse_remote(url: str, *, policy: RemotePolicy, resolve: Resolve | None = None) -> Remote:
    """The remote that `url` names: `https://…`, `ssh://…`, `user@host:path`, and by policy `http://…` and `file:///…`.

    `resolve` is called with (host, port) for every remote with a host once its spelling is accepted; it answers with
    the addresses and raises AddressRefused where one of them may not be reached. Raises AddressRefused, with what to
    give instead.
    """
    _check_text(url)
    if match := _URL.fullmatch(url):
        scheme, authority, path = match["scheme"].lower(), match["authority"], match["path"] or ""
        _check_scheme(scheme, policy)
        remote = _file(path, authority) if scheme == "file" else _with_host(scheme, authority, path)
    elif "::" not in url and "://" not in url and (match := _SCP.fullmatch(url)):
        host = _checked_host(match["host"])
        remote = Remote(f"{match['user']}@{host}:{match['path']}", "", "ssh", host, None, match["path"])
    else:
        raise AddressRefused(
            f"{redact(url)[:120]!r} is not a remote: give https://host/owner/name or ssh://git@host/owner/name."
        )
    _check_path(remote)
    _check_allowed(remote, policy)
    named = _with_id(remote, policy)
    if resolve is not None and named.host:
        tuple(resolve(named.host, named.port or DEFAULT_PORTS[named.scheme]))
    return named


def redact(text: str) -> str:
    """`text` without user, password or token in any URL, and without the value of any authorising header."""
    text = _SECRET_IN_URL.sub(r"\1***@", text)
    text = _SECRET_IN_HEADER.sub(r"\1\2***", text)
    return _SECRET_IN_QUERY.sub(r"\1***", text)


def _check_text(url: str) -> None:
    if not url or len(url) > URL_LENGTH_MAX:
        raise AddressRefused(f"a remote's URL has 1 to {URL_LENGTH_MAX} characters; this one has {len(url)}.")
    if _FORBIDDEN.search(url) or _FORBIDDEN.search(unquote(url)):
        raise AddressRefused("a remote's URL has no control characters and no backslashes, encoded or not.")
    if url != url.strip():
        raise AddressRefused("a remote's URL has no white space around it.")
    if url.startswith("-"):
        raise AddressRefused("a remote's URL does not begin with '-': that would be an option.")


def _check_scheme(scheme: str, policy: RemotePolicy) -> None:
    if scheme in {"https", "ssh"}:
        return
    if scheme == "http":
        if policy.allow_insecure_http:
            return
        raise AddressRefused("http:// is not encrypted: use https://, or set REGISTRY_ALLOW_INSECURE_HTTP.")
    if scheme == "file":
        if policy.allow_file_remotes:
            return
        raise AddressRefused("file:// remotes are off: use https:// or ssh://, or set REGISTRY_ALLOW_FILE_REMOTES.")
    raise AddressRefused(f"the scheme {scheme[:20]!r} is not read here: use https:// or ssh://.")


def _file(path: str, authority: str) -> Remote:
    if authority not in {"", "localhost"}:
        raise AddressRefused("a file remote has no host: give file:///absolute/path.")
    if len(path) < 2:
        raise AddressRefused("a file remote names a folder: give file:///absolute/path.")
    return Remote(f"file://{path}", "", "file", "", None, path)


def _with_host(scheme: str, authority: str, path: str) -> Remote:
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise AddressRefused(
            "the part between '//' and the path is host or host:port, without a password: credentials are configured, "
            "never written into a URL."
        )
    host = _checked_host(parts["host"])
    user = parts["user"]
    if user is not None and not _USER.fullmatch(user):
        raise AddressRefused("a user in a URL is letters, digits, '.', '_' and '-', and has no password beside it.")
    port = int(parts["port"]) if parts["port"] else None
    if port is not None and not 0 < port < 65536:
        raise AddressRefused(f"{port} is not a port: ports go from 1 to 65535.")
    port = None if port == DEFAULT_PORTS[scheme] else port
    # A user name is dropped from http(s): it says nothing there, and often enough it is a token.
    shown = f"{user}@{host}" if user and scheme == "ssh" else host
    return Remote(f"{scheme}://{shown}{f':{port}' if port else ''}{path}", "", scheme, host, port, path)


def _checked_host(text: str) -> str:
    host = text.lower().removesuffix(".")
    if host.startswith("["):
        return f"[{_checked_ipv6(host[1:-1])}]"
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise AddressRefused(f"{text[:80]!r} is not a host name: use ASCII letters, digits, '-' and '.'.")
    if _NUMBER.fullmatch(labels[-1]):
        # The C library reads 127.1, 0x7f.1, 0177.0.0.1 and 2130706433 as addresses; only one spelling is let in.
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise AddressRefused(f"{text[:80]!r} is a disguised address: write it as four decimal numbers.") from None
    return host


def _checked_ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise AddressRefused(f"[{text[:60]}] is not an IPv6 address.") from None
    if address.ipv4_mapped or address.sixtofour or address.teredo:
        raise AddressRefused(f"[{text[:60]}] hides an IPv4 address: write that one.")
    return str(address)


def _check_path(remote: Remote) -> None:
    path = remote.path
    if remote.scheme in {"http", "https"} and (not path.isascii() or any(map(str.isspace, path))):
        raise AddressRefused("the path of an http(s) URL is ASCII without white space: percent-encode the rest.")
    if "?" in path or "#" in path:
        raise AddressRefused("a remote's URL has no query and no fragment: leave out what follows '?' or '#'.")
    if any(segment.startswith("-") for segment in unquote(path).split("/")):
        raise AddressRefused("no segment of a remote's path begins with '-': that could be read as an option.")


def _check_allowed(remote: Remote, policy: RemotePolicy) -> None:
    if remote.scheme == "file" or not policy.allowed_hosts:
        return
    with_port = f"{remote.host}:{remote.port or DEFAULT_PORTS[remote.scheme]}"
    if remote.host not in policy.allowed_hosts and with_port not in policy.allowed_hosts:
        raise AddressRefused(f"the host {remote.host} is not allowed: ask for it in REGISTRY_ALLOWED_HOSTS.")


def _with_id(remote: Remote, policy: RemotePolicy) -> Remote:
    try:
        name = repository_id(remote.url, case_sensitive_hosts=policy.case_sensitive_hosts)
    except RepositoryInvalid as error:
        raise AddressRefused(error.detail) from None
    return Remote(remote.url, str(name), remote.scheme, remote.host, remote.port, remote.path)
