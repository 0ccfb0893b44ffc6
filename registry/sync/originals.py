"""The original bytes of what was read: in the store by their digest before anything that names them is in force.

Only digests that the store lacks are read again, a batch at a time, so that a repository of any size passes through
a few megabytes of memory. What a small one has is left to its publication, which writes those of many together.
"""

from collections.abc import Mapping
from typing import Final

from registry.digest import digest_of
from registry.errors import Corrupt
from registry.playbook.companions import COMPANION_BYTES_MAX
from registry.ports import BlobStore, Tree

BATCH_BYTES_MAX: Final = 4 << 20
LEFT_BYTES_MAX: Final = 128 << 10
"""What a publication carries at most: many of them wait in memory at the same time."""


def keep_originals(tree: Tree, originals: Mapping[str, str], store: BlobStore) -> dict[str, bytes]:
    """Store what is missing of `originals` (digest -> blob id); digest -> bytes of what is left for the publication.

    Raises Corrupt for an object that is not what was read, and what the store raises.
    """
    missing = store.missing_blobs(originals)
    if not missing:
        return {}
    # A reading that was remembered needed no bytes, so a slim mirror may not have them yet.
    tree.hydrate({originals[digest] for digest in missing})
    batch: dict[str, bytes] = {}
    size_bytes = 0
    for digest in sorted(missing):
        data = tree.read_blob(originals[digest], COMPANION_BYTES_MAX)
        if not isinstance(data, bytes) or digest_of(data) != digest:
            raise Corrupt(f"object {originals[digest]} is not what was read of it: the next attempt reads it anew.")
        if batch and size_bytes + len(data) > BATCH_BYTES_MAX:
            store.put_blobs(batch)
            batch, size_bytes = {}, 0
        batch[digest] = data
        size_bytes += len(data)
    if size_bytes <= LEFT_BYTES_MAX:
        return batch
    store.put_blobs(batch)
    return {}
