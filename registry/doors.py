"""The doors of a serving process: settings and services in, one application with all of them out."""

import ipaddress
from collections.abc import Callable, Sequence
from importlib.metadata import version

from registry.api.answers import Answer, Application, Scope, json_answer
from registry.api.app import DISTRIBUTION, create_app
from registry.api.auth import Gate
from registry.api.front import Annex
from registry.api.skills import WELL_KNOWN as AGENT_SKILLS
from registry.api.skills import SkillDocuments
from registry.api.threads import Pools
from registry.api.wellknown import Document, WellKnown
from registry.errors import Unknown
from registry.mcp.admission import admission
from registry.mcp.endpoint import Endpoint, Guard
from registry.mcp.skill_calls import skill_feature
from registry.oauth.metadata import WELL_KNOWN, metadata_url, resource_metadata
from registry.service.services import Services
from registry.settings import Settings
from registry.telemetry import Telemetry


def open_doors(services: Services, settings: Settings, telemetry: Telemetry) -> tuple[Application, Endpoint]:
    """The application over the services, and its MCP endpoint, whose streams must be ended before it can stop."""
    endpoint = mcp_endpoint(services, settings, telemetry.observe_tool)
    application = create_app(
        services,
        anonymous_read=settings.reads_openly,
        metrics=telemetry.text,
        observe=telemetry.observe,
        annexes=annexes(services, endpoint, settings),
    )
    return application, endpoint


def mcp_endpoint(services: Services, settings: Settings, observe: Callable[[str, str], None]) -> Endpoint:
    """The MCP endpoint over the services of a serving process; `observe` is told of every tool call."""
    has_issuer = settings.oauth_issuer is not None and settings.mcp_resource is not None
    guard = Guard(
        admission(
            listen_host=settings.listen_host,
            public_url=settings.public_url,
            hosts=settings.mcp_allowed_hosts,
            origins=settings.mcp_allowed_origins,
        ),
        settings.mcp_rate_per_s,
        tuple(ipaddress.ip_network(cidr, strict=False) for cidr in settings.trusted_proxies),
        metadata_url(settings.mcp_resource or "") if has_issuer else None,
    )
    return Endpoint(services, guard, features=(skill_feature,), version=version(DISTRIBUTION), observe=observe)


def annexes(services: Services, endpoint: Endpoint, settings: Settings) -> Callable[[Gate, Pools], Sequence[Annex]]:
    """The doors beside the HTTP API: MCP, and what programs look for at well-known paths."""
    documents: dict[bytes, Document] = {}
    if settings.oauth_issuer is not None and settings.mcp_resource is not None:
        metadata = json_answer(resource_metadata(settings.mcp_resource, settings.oauth_issuer))

        async def resource(_scope: Scope, below: bytes) -> Answer:
            # The whole registry is one resource: its metadata is the same at the root and below /mcp.
            if below not in {b"", b"/mcp"} and not below.startswith(b"/mcp/"):
                raise Unknown("route", "the metadata of this registry is that of /mcp.")
            return metadata

        documents[WELL_KNOWN.removeprefix("/.well-known").encode()] = resource

    def beside(gate: Gate, pools: Pools) -> Sequence[Annex]:
        skills = SkillDocuments(services, gate, pools)
        well_known = WellKnown({**documents, AGENT_SKILLS: skills.of_central})
        return endpoint.annex(gate, pools), well_known.annex(), skills.annex()

    return beside
