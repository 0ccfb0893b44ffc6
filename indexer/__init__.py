"""Finds: documents in, a full-text index out; a query in, hits out. Knows nothing of git, HTTP or the merge."""
