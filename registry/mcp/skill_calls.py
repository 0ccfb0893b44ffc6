"""The methods of skills and resources over MCP: parameters in, results of the wire out (SEP-2640; MCP, Resources)."""

from collections.abc import Mapping
from typing import Any, Final

from registry.api.threads import Pools
from registry.mcp import tools
from registry.mcp.calls import state_json
from registry.mcp.features import INVALID_PARAMS, Caller, Feature, ProtocolError
from registry.mcp.routing import CODEX_META
from registry.mcp.skills import (
    EXTENSION,
    TEMPLATES,
    children_json,
    contents_json,
    cursor_of,
    entry_json,
    name_of,
    read_uri,
    refused_json,
    resource_json,
)
from registry.playbook.export.mcp_tool import META_PREFIX
from registry.playbook.skill import SKILL_FILE
from registry.service.services import Services
from registry.service.skills import OfferedSkill, SkillPage

TTL_MS: Final = 60_000
"""How long a host may keep an answer that no notice took back; the registry looks at git about as often."""

Json = Any
Object = dict[str, Json]


class SkillCalls:
    """Answers `skills/…` and `resources/…` from the catalog in force. Its services run in threads."""

    def __init__(self, services: Services, pools: Pools) -> None:
        self._catalogs = services.catalogs
        self._skills = services.skills
        self._pools = pools

    def feature(self) -> Feature:
        """These methods, to be plugged into the server."""
        return Feature(
            {
                "skills/list": self._list_skills,
                "skills/get": self._get_skill,
                "resources/list": self._list_resources,
                "resources/templates/list": self._list_templates,
                "resources/read": self._read_resource,
                "resources/directory/read": self._read_directory,
            },
            {EXTENSION: {"directoryRead": True}},
        )

    async def _list_skills(self, caller: Caller, params: Mapping[str, Json]) -> Object:
        page = await self._page(caller, params)
        meta = {
            "snapshot": page.snapshot,
            "state": state_json(self._catalogs.asked(caller.repository), caller.note),
            "refused": [refused_json(copy) for copy in page.refused],
        }
        return {
            "skills": [entry_json(skill) for skill in page.skills],
            **_next(page),
            **_cache(params),
            "_meta": {META_PREFIX + key: value for key, value in meta.items()},
        }

    async def _get_skill(self, caller: Caller, params: Mapping[str, Json]) -> Object:
        uri = _uri(params)
        skill, path = await self._find(caller, uri)
        if path != SKILL_FILE:
            raise _unknown(uri, "is a file of a skill and no skill: give the URI of its SKILL.md")
        return {"skill": entry_json(skill), **_cache(params)}

    async def _list_resources(self, caller: Caller, params: Mapping[str, Json]) -> Object:
        page = await self._page(caller, params)
        resources = [resource_json(skill, skill.package.files[0]) for skill in page.skills]
        return {"resources": resources, **_next(page), **_cache(params)}

    async def _list_templates(self, caller: Caller, params: Mapping[str, Json]) -> Object:  # noqa: ARG002 - a method
        _no_cursor(params)
        return {"resourceTemplates": [dict(template) for template in TEMPLATES], **_cache(params)}

    async def _read_resource(self, caller: Caller, params: Mapping[str, Json]) -> Object:
        uri = _uri(params)
        skill, path = await self._find(caller, uri)
        data = await self._pools.calls.run(self._skills.read, skill, path)
        if data is None:
            raise _unknown(uri)
        return {"contents": [contents_json(uri, path, data)], **_cache(params)}

    async def _read_directory(self, caller: Caller, params: Mapping[str, Json]) -> Object:
        uri = _uri(params)
        _no_cursor(params)
        skill, path = await self._find(caller, uri)
        children = children_json(skill, path)
        if children is None:
            raise _unknown(uri, "is no folder of a skill")
        return {"resources": children}

    async def _page(self, caller: Caller, params: Mapping[str, Json]) -> SkillPage:
        after = _cursor(params)
        return await self._pools.listings.run(self._skills.page, caller.repository, after=after)

    async def _find(self, caller: Caller, uri: str) -> tuple[OfferedSkill, str]:
        """The skill that a URI is about, and the path in it, which need not be there. Raises ProtocolError."""
        address = read_uri(uri)
        if address is None:
            raise _unknown(uri)
        found = await self._pools.calls.run(self._skills.find, caller.repository, address.side, address.name)
        if found is None:
            raise _unknown(uri)
        return found, address.path


def skill_feature(services: Services, pools: Pools) -> Feature:
    """Skills and their resources, for the endpoint."""
    return SkillCalls(services, pools).feature()


def _uri(params: Mapping[str, Json]) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str) or not uri:
        raise ProtocolError(INVALID_PARAMS, "uri is missing: give the URI of a resource as text")
    return uri


def _cursor(params: Mapping[str, Json]) -> str | None:
    cursor = params.get("cursor")
    if cursor is None:
        return None
    name = name_of(cursor) if isinstance(cursor, str) else None
    if name is None:
        raise ProtocolError(INVALID_PARAMS, "cursor is none that this registry gave: begin again without one")
    return name


def _no_cursor(params: Mapping[str, Json]) -> None:
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "cursor is none that this registry gave: this list has one page")


def _next(page: SkillPage) -> Object:
    return {} if page.next_after is None else {"nextCursor": cursor_of(page.next_after)}


def _cache(params: Mapping[str, Json]) -> Object:
    """How long a host may keep this answer.

    Not at all where its host says beside each call which working copy is meant: kept, the answer for one would be
    taken for that of another.
    """
    meta = params.get("_meta")
    varies = isinstance(meta, Mapping) and CODEX_META in meta
    return {"ttlMs": 0 if varies else TTL_MS, "cacheScope": "private"}


def _unknown(uri: str, why: str = "is no resource of this catalog") -> ProtocolError:
    shown = tools.clean(uri)
    return ProtocolError(INVALID_PARAMS, f"{shown[:200]} {why}", {"uri": shown})
