"""Playbook Registry: reads playbooks from git, merges them per repository and serves one catalog snapshot."""
