"""The only door to SQL: tables, migrations and the store adapter."""
