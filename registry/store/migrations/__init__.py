"""Alembic migrations, run at start-up."""
