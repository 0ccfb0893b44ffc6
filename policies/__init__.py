"""Decides: facts in, a decision with its reason out. Pure; knows nothing of git, HTTP, storage or search."""
