"""Where to get a token for this registry (RFC 9728, OAuth 2.0 Protected Resource Metadata)."""

from typing import Final
from urllib.parse import urlsplit

from policies.access import Scope

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
HOST_SCOPES: Final = (Scope.CATALOG_READ, Scope.PLAYBOOK_EXECUTE)
"""What the tools of MCP need. Hosts ask their user for all that is named here, and no agent needs to change rules."""


def metadata_url(resource: str) -> str:
    """The URL of a resource's metadata: the well-known path goes between its host and its path (RFC 9728, 3.1)."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{parts.path.rstrip('/')}"


def resource_metadata(resource: str, issuer: str) -> dict[str, object]:
    """The metadata of the one resource that covers every repository: what begins with its URL is part of it."""
    return {
        "resource": resource,
        "authorization_servers": [issuer],
        "scopes_supported": [scope.value for scope in HOST_SCOPES],
        "bearer_methods_supported": ["header"],
        "resource_name": "Playbook Registry",
    }
