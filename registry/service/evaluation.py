"""Evaluations: how the selection cases of the catalog in force come out, one report for each snapshot."""

import json
from typing import Final

from registry.digest import canonical
from registry.service.cache import ByteCache, SingleFlight
from registry.service.catalogs import Catalogs
from registry.service.selecting import evaluate_selection, from_entries

REPORTS_BYTES_MAX: Final = 8 * 1024 * 1024
"""Bytes of reports that are kept."""


class Evaluations:
    """Evaluates what a repository is served. Thread-safe; permission plays no part in it."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._reports: ByteCache[str, bytes] = ByteCache(REPORTS_BYTES_MAX)
        self._flights: SingleFlight[str, bytes] = SingleFlight()

    def made(self, repository: str) -> bytes | None:
        """The report of `report` if it is there already, or None. Raises as that does."""
        return self._reports.get(self._catalogs.current(repository, registered_required=True).digest)

    def report(self, repository: str) -> bytes:
        """The report on a repository's catalog in force as JSON (http-api.md), made once for a snapshot.

        Takes about a millisecond for four cases, in seconds at most. Raises RepositoryInvalid, Unknown for a repository
        that is not registered, and Unavailable before it was read.
        """
        full = self._catalogs.current(repository, full=True, registered_required=True)
        found = self._reports.get(full.digest)
        if found is None:
            found = self._flights.do(full.digest, lambda: _report(full.digest, full.body))
            self._reports.put(full.digest, found, len(found))
        return found


def _report(digest: str, body: bytes) -> bytes:
    catalog = json.loads(body)
    report = evaluate_selection(from_entries(catalog["entries"]))
    return canonical({"repository": catalog["repository"], "snapshot": digest, **report})
