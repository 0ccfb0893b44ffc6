"""Playbooks in other forms: pure renderers of a contract, one module a form."""
