"""Evaluations: how the selection cases of the catalog in force come out, one report for each snapshot."""

import json
from typing import Final

from registry.digest import canonical
from registry.service.cache import ByteCache, SingleFlight
from registry.service.catalogs import CatalogAnswer, Catalogs
from registry.service.selecting import evaluate_selection, from_entries

REPORTS_BYTES_MAX: Final = 32 * 1024 * 1024
"""Bytes of reports that are kept."""
PAIRS_MAX: Final = 5_000_000
"""Cases times playbooks of one report: seconds of work, once for a snapshot."""


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

        Takes seconds at most. Raises RepositoryInvalid, Unknown for a repository that is not registered, and
        Unavailable before it was read.
        """
        full = self._catalogs.current(repository, full=True, registered_required=True)
        found = self._reports.get(full.digest)
        return found if found is not None else self._flights.do(full.digest, lambda: self._make(full))

    def _make(self, full: CatalogAnswer) -> bytes:
        # Another flight may have ended between the look and this one.
        made = self._reports.get(full.digest)
        if made is None:
            catalog = json.loads(full.body)
            report = evaluate_selection(from_entries(catalog["entries"]), pairs_max=PAIRS_MAX)
            made = canonical({"repository": catalog["repository"], "snapshot": full.digest, **report})
            self._reports.put(full.digest, made, len(made))
        return made
