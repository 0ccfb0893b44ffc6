"""Runs: what a caller is bound to when a playbook is executed, and the record that is kept of it."""
