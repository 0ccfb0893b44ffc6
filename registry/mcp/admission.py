"""Which requests reach the endpoint at all: Host and Origin (MCP 2026-07-28, Transports, Security), and who is calling.

A web page can have a browser send requests to a name that its owner points at 127.0.0.1. What such a request cannot
have is the Host of this registry. The SDK has a check of its own; it compares spellings, cannot admit a page of the
registry's own origin, and answers in plain text, so this one stands before it.
"""

import ipaddress
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Final
from urllib.parse import urlsplit

ANY: Final = "*"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_HOST_LENGTH_MAX: Final = 300

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Admission:
    """The hosts and origins that are admitted.

    A host is a name (any port) or name:port, in lower case; an IPv6 address stands in brackets. An origin is
    scheme://host or scheme://host:port. `*` among either admits all of them.
    """

    hosts: frozenset[str]
    origins: frozenset[str]

    def admits_host(self, host: str | None) -> bool:
        """Whether a request may carry this Host."""
        if ANY in self.hosts:
            return True
        if not host or len(host) > _HOST_LENGTH_MAX:
            return False
        name, port = split_host(host)
        if port and not (port.isascii() and port.isdigit()):
            return False
        return name in self.hosts or (bool(port) and f"{name}:{port}" in self.hosts)

    def admits_origin(self, origin: str | None, host: str | None) -> bool:
        """Whether a request with this Host may carry this Origin.

        Programs send none; a page's is admitted where it is configured or is that of the registry itself.
        """
        if origin is None or ANY in self.origins:
            return True
        if len(origin) > _HOST_LENGTH_MAX:
            return False
        found = normal_origin(origin)
        return found in self.origins or (host is not None and found is not None and _is_own(found, host))


def admission(
    *, listen_host: str, public_url: str | None, hosts: Collection[str], origins: Collection[str]
) -> Admission:
    """What is admitted: loopback, the address that is listened on, the public URL, and what is configured."""
    public = urlsplit(public_url).netloc.rpartition("@")[2].lower() if public_url else ""
    own = {_bracketed(listen_host), *([_without_default_port(public_url, public)] if public_url else [])}
    configured = {_bracketed(host.lower()) for host in hosts}
    normal = {found for origin in origins if (found := origin if origin == ANY else normal_origin(origin))}
    public_origin = normal_origin(public_url) if public_url else None
    return Admission(
        frozenset({*LOOPBACK, *own, *configured}), frozenset({*normal, *([public_origin] if public_origin else [])})
    )


def split_host(host: str) -> tuple[str, str]:
    """(name, port) of a Host header, the name in lower case and an IPv6 address in its brackets."""
    text = host.strip().lower()
    if text.endswith("]") or ":" not in text:
        return text.rstrip("."), ""
    name, _, port = text.rpartition(":")
    return name.rstrip("."), port


def normal_origin(text: str) -> str | None:
    """scheme://host[:port] of an origin or URL in one spelling; None for anything else, `null` too."""
    try:
        parts = urlsplit(text.strip().lower())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.username is not None:
        return None
    name = _bracketed(parts.hostname)
    shown = "" if port is None or str(port) == _DEFAULT_PORTS[parts.scheme] else f":{port}"
    return f"{parts.scheme}://{name}{shown}"


def caller_address(peer: str | None, forwarded_for: Sequence[str], trusted: Collection[Network]) -> str:
    """The address that a request came from: the peer's, or where that is a trusted proxy, the one that it forwards.

    `forwarded_for` are the values of X-Forwarded-For, in order. The last address that is no trusted proxy's counts:
    what stands before it anybody may have written.
    """
    found = peer or "unknown"
    hops = [hop.strip() for value in forwarded_for for hop in value.split(",")]
    while hops and _is_within(found, trusted):
        hop = _address_of(hops.pop())
        if hop is None:
            break
        found = hop
    return found


def is_direct_loopback(peer: str | None, *, forwarded: bool) -> bool:
    """Whether a caller sits on this machine, and no proxy here speaks for somebody else."""
    if peer is None or forwarded:
        return False
    try:
        return ipaddress.ip_address(peer).is_loopback
    except ValueError:
        return False


def _is_own(origin: str, host: str) -> bool:
    name, port = split_host(host)
    scheme, _, authority = origin.partition("://")
    return authority == (name if port in {"", _DEFAULT_PORTS[scheme]} else f"{name}:{port}")


def _without_default_port(url: str, authority: str) -> str:
    scheme = url.partition("://")[0].lower()
    name, port = split_host(authority)
    return name if port in {"", _DEFAULT_PORTS.get(scheme, "")} else f"{name}:{port}"


def _bracketed(name: str) -> str:
    bare = name.strip("[]")
    try:
        return f"[{bare}]" if ipaddress.ip_address(bare).version == 6 else name
    except ValueError:
        return name


def _is_within(address: str, networks: Collection[Network]) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in networks)


def _address_of(hop: str) -> str | None:
    """The address of one element of X-Forwarded-For, which may carry a port."""
    for text in (hop, hop.strip("[]"), hop.rpartition(":")[0].strip("[]")):
        try:
            return str(ipaddress.ip_address(text))
        except ValueError:
            continue
    return None
