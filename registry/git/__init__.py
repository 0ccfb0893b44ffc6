"""The only door to git: remotes, mirrors, trees, working copies."""
