"""The door for MCP hosts: the endpoint, its tools and skills, and the bridge over stdio."""
