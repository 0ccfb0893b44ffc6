"""The library for hosts and MCP servers: open a catalog, overlay a working copy, search, get, execute."""
