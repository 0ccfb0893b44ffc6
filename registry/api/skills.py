"""Agent Skills Discovery (0.2.0): an index of skills at a well-known path, and the files that it names.

Central's is at `/.well-known/agent-skills`. That of a repository has the same path below `/skills/r/{repository}`,
which is what an installer of skills is given: it looks for the well-known path below whatever URL it gets.
"""

from registry.api.addresses import parse_address
from registry.api.answers import JSON, NO_CACHE, NO_SCRIPTS, NOSNIFF, Answer, Headers, Scope
from registry.api.auth import Gate
from registry.api.catalogs import VARY
from registry.api.conditional import ENCODABLE_BYTES_MIN, Encoding, etag_header, matches, negotiate
from registry.api.exchange import Exchange
from registry.api.exports import disposition
from registry.api.front import Annex
from registry.api.parameters import read_parameters
from registry.api.problems import method_not_allowed
from registry.api.threads import Pools
from registry.errors import Unknown
from registry.playbook.skill import SKILL_FILE
from registry.service.services import Services
from registry.service.skill_index import ARCHIVE_ENDING, INDEX_FILE, Published

WELL_KNOWN = b"/agent-skills"
"""Below `/.well-known`."""
PATH = b"/skills"
REPOSITORIES = PATH + b"/r/"
MARKDOWN = (b"content-type", b"text/markdown; charset=utf-8")
ZIP = (b"content-type", b"application/zip")

_MARK = b"/.well-known" + WELL_KNOWN + b"/"
_READS = frozenset({"GET", "HEAD"})


class SkillDocuments:
    """Answers reads of the index and of what it names, under the rules that other reads are under."""

    def __init__(self, services: Services, gate: Gate, pools: Pools) -> None:
        self._catalogs = services.catalogs
        self._indexes = services.skill_indexes
        self._gate = gate
        self._pools = pools

    def annex(self) -> Annex:
        """The door to the indexes of repositories."""
        return Annex(PATH, "other", self._of_repository)

    async def of_central(self, scope: Scope, below: bytes) -> Answer:
        """What central's catalog has at a raw path below `/.well-known/agent-skills`."""
        return await self._admitted(scope, None, below.removeprefix(b"/"))

    async def _of_repository(self, scope: Scope, exchange: Exchange) -> Answer | None:  # noqa: ARG002 - an annex's signature
        path, mark, file = scope["raw_path"].rpartition(_MARK)
        if not mark or not path.startswith(REPOSITORIES):
            where = "/skills/r/{repository}/.well-known/agent-skills/index.json"
            raise Unknown("route", f"the skills of a repository are at {where}.")
        if scope["method"] not in _READS:
            return method_not_allowed("GET, HEAD")
        return await self._admitted(scope, _repository(path.removeprefix(REPOSITORIES)), file)

    async def _admitted(self, scope: Scope, repository: str | None, file: bytes) -> Answer:
        authorization, accept_encoding, if_none_match = _headers(scope)
        principal = None if authorization is None else await self._gate.authenticate(authorization)
        self._gate.check_reader(principal)
        read_parameters(scope["query_string"], ())
        encoding = negotiate(accept_encoding) if accept_encoding else None
        if file == INDEX_FILE.encode():
            found = self._indexes.peek(repository)
            if found is None:
                found = await self._pools.listings.run(self._indexes.index, repository)
            return await self._answer(found, if_none_match, encoding, [JSON])
        name, kind = _artifact(file)
        if kind == SKILL_FILE:
            found = await self._pools.calls.run(self._indexes.skill_file, repository, name)
            return await self._answer(found, if_none_match, encoding, [MARKDOWN, NO_SCRIPTS])
        found = await self._pools.listings.run(self._indexes.archive, repository, name)
        named = (b"content-disposition", disposition(name + ARCHIVE_ENDING))
        # As it is: a coding of what may be 16 MiB would drive catalogs out of the cache.
        return await self._answer(found, if_none_match, None, [ZIP, NO_SCRIPTS, named])

    async def _answer(
        self, found: Published, if_none_match: bytes | None, encoding: Encoding | None, headers: Headers
    ) -> Answer:
        """The bytes, or 304 where the caller has them."""
        encoding = encoding if len(found.body) >= ENCODABLE_BYTES_MIN else None
        headers = [*headers, NOSNIFF, NO_CACHE, (b"etag", etag_header(found.digest, encoding)), VARY]
        if encoding is not None:
            headers.append((b"content-encoding", encoding.encode()))
        if if_none_match is not None and matches(if_none_match, found.digest):
            return Answer(304, headers)
        if encoding is None:
            return Answer(200, headers, found.body)
        body = await self._pools.calls.run(self._catalogs.encoded, found.digest, found.body, encoding)
        return Answer(200, headers, body)


def _artifact(file: bytes) -> tuple[str, str]:
    """(the skill's name, SKILL_FILE or ARCHIVE_ENDING) of a raw path. Raises Unknown for any other."""
    text = file.decode("latin-1")
    for kind in (f"/{SKILL_FILE}", ARCHIVE_ENDING):
        name = text.removesuffix(kind)
        if name and name != text and "/" not in name:
            return name, kind.removeprefix("/")
    raise Unknown("route", f"there is no such file: {INDEX_FILE} lists the skills, and the file of each.")


def _repository(tail: bytes) -> str:
    """The repository that a raw path names. No sub-resources here: its last segment may well be `sync`."""
    address = parse_address(tail)
    parts = [part for part in (address.repository, address.sub_resource) if part is not None]
    if not parts:
        raise Unknown("route", "name a repository: /skills/r/{host}/{path}/.well-known/agent-skills/index.json.")
    return "/".join(parts)


def _headers(scope: Scope) -> tuple[bytes | None, bytes | None, bytes | None]:
    """(Authorization, Accept-Encoding, If-None-Match), each None where absent and joined where repeated."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in {b"authorization", b"accept-encoding", b"if-none-match"}:
            found[name] = found[name] + b", " + value if name in found else value
    return found.get(b"authorization"), found.get(b"accept-encoding"), found.get(b"if-none-match")
