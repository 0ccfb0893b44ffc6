"""The search call, by GET and by POST (http-api.md, Read)."""

from registry.api.addresses import check_spelling
from registry.api.answers import Answer, json_answer
from registry.api.bodies import SearchBody, read_body
from registry.api.parameters import read_parameters
from registry.api.threads import Threads
from registry.errors import QueryInvalid
from registry.service.search import LIMIT_DEFAULT, Search

SEARCH_PARAMETERS = frozenset({"repository", "q", "tag", "limit"})


class SearchCalls:
    """Answers `GET` and `POST /v1/search`."""

    def __init__(self, search: Search, threads: Threads) -> None:
        self._search = search
        self._threads = threads

    async def by_query(self, query: bytes) -> Answer:
        """Ranked rows for the fields of a query string; `tag` repeats. Raises as Search.search does."""
        parameters = read_parameters(query, SEARCH_PARAMETERS)
        limit = _whole_number(parameters.text("limit"))
        return await self._answer(
            parameters.text("repository"), parameters.text("q") or "", parameters.texts("tag"), limit
        )

    async def by_body(self, query: bytes, data: bytes, content_type: str) -> Answer:
        """The same for the fields of a JSON body; a `tag` may be one text or a list of them."""
        read_parameters(query, ())
        body = read_body(SearchBody, data, content_type)
        tags = (body.tag,) if isinstance(body.tag, str) else body.tag
        return await self._answer(body.repository, body.q, tags, body.limit)

    async def _answer(self, repository: str | None, q: str, tags: tuple[str, ...], limit: int) -> Answer:
        if repository is not None:
            check_spelling(repository)
        return json_answer(await self._threads.run(self._search.search, repository, q, tags, limit))


def _whole_number(text: str | None) -> int:
    if text is None:
        return LIMIT_DEFAULT
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise QueryInvalid(f"limit is {text[:40]!r}: give a number from 1 to 50.")
    return int(text)
