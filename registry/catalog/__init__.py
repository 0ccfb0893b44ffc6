"""What a repository is served: revisions, the merge, the snapshot and its documents. Pure."""
