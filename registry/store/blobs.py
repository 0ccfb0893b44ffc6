"""Original bytes in the store, by digest, each compressed by itself."""

from collections.abc import Collection, Mapping

import zstandard
from sqlalchemy import select

from registry.errors import StoreFault
from registry.store import models
from registry.store.engine import Transactions, batches

ZSTD_LEVEL = 3


class Blobs(Transactions):
    """The part of the store that keeps what git gave, as git gave it."""

    def missing_blobs(self, digests: Collection[str]) -> frozenset[str]:
        """Those of `digests` that are not stored."""
        column = models.blobs.c.digest
        missing = set(digests)
        with self._database.reading() as connection:
            for batch in batches(sorted(missing)):
                missing.difference_update(connection.execute(select(column).where(column.in_(batch))).scalars())
        return frozenset(missing)

    def put_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Store original bytes by digest in one transaction; what is there already stays."""
        if not blobs:
            return
        # Compressed before the transaction begins: nobody else can write while it lasts.
        compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
        rows = [
            {"digest": digest, "body": compressor.compress(blobs[digest]), "size": len(blobs[digest])}
            for digest in sorted(blobs)
        ]
        with self._database.writing() as writing:
            writing.insert_missing(models.blobs, rows)

    def blob(self, digest: str) -> bytes | None:
        """The original bytes with that digest, or None. Raises StoreFault where they were changed by hand."""
        table = models.blobs
        with self._database.reading() as connection:
            chosen = select(table.c.body, table.c.size).where(table.c.digest == digest)
            row = connection.execute(chosen).one_or_none()
        if row is None:
            return None
        try:
            # An empty frame says nothing of its size, and 0 would mean that nobody knows it.
            data = zstandard.ZstdDecompressor().decompress(bytes(row.body), max_output_size=max(1, row.size))
        except zstandard.ZstdError:
            data = None
        if data is None or len(data) != row.size:
            raise StoreFault(f"blob {digest} cannot be unpacked: the store was changed by hand, restore the database.")
        return data
