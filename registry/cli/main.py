"""The command `registry`: the list of its commands, and what holds for all of them."""

import click

from registry.cli.group import LazyGroup, Listed
from registry.cli.outcome import LEGEND

COMMANDS = {
    "init": Listed("registry.cli.init", "init", "Set up a working copy: its hosts' files, and its registration."),
    "serve": Listed("registry.cli.serve", "serve", "Start the registry from its environment."),
    "demo": Listed("registry.cli.demo", "demo", "Run a registry over example repositories and show what to try."),
    "register": Listed("registry.cli.repositories", "register", "Register a service repository, or change it."),
    "deregister": Listed("registry.cli.repositories", "deregister", "End a registration."),
    "repositories": Listed("registry.cli.repositories", "repositories", "List registrations, or show one."),
    "problems": Listed("registry.cli.problems", "problems", "List what wants attention, in one repository or in all."),
    "sync": Listed("registry.cli.repositories", "sync", "Read a repository now."),
    "apply": Listed("registry.cli.repositories", "apply", "Put a suspended commit in force."),
    "catalog": Listed("registry.cli.catalog", "catalog", "Show the catalog in force for a repository."),
    "search": Listed("registry.cli.catalog", "search", "Find playbooks for a task."),
    "explain": Listed("registry.cli.catalog", "explain", "Say which copy of a playbook serves, and why."),
    "run": Listed("registry.cli.runs", "run", "Open a run of a playbook and show what is to be done."),
    "runs": Listed("registry.cli.runs", "runs", "List the runs that you may look at, or show one."),
    "evaluate": Listed("registry.cli.evaluate", "evaluate", "Say how the selection cases of a catalog come out."),
    "export": Listed("registry.cli.export", "export", "Write a playbook in another form, to a file or a folder."),
    "check": Listed("registry.cli.check", "check_command", "Check the playbooks of a working copy."),
    "mcp": Listed("registry.cli.mcp", "mcp", "Serve a working copy's playbooks to an MCP host over stdio."),
    "policy": Listed("registry.cli.policy", "policy", "Show and change what is required, waived or withdrawn."),
    "token": Listed("registry.cli.token", "token", "Create, list and revoke tokens."),
    "schema": Listed("registry.cli.schema", "schema", "Print a JSON Schema for editors."),
    "doctor": Listed("registry.cli.doctor", "doctor", "Find out what is wrong with an installation."),
    "completion": Listed("registry.cli.completion", "completion", "Print a script for your shell to complete with."),
}

ELSEWHERE = {
    **dict.fromkeys(("validate", "lint", "test", "verify"), "check"),
    **dict.fromkeys(("list", "ls", "status"), "repositories"),
    **dict.fromkeys(("add", "create", "new", "enroll"), "register"),
    **dict.fromkeys(("remove", "rm", "delete", "unregister"), "deregister"),
    **dict.fromkeys(("start", "server", "up"), "serve"),
    **dict.fromkeys(("refresh", "pull", "fetch", "update", "reload"), "sync"),
    **dict.fromkeys(("find", "query"), "search"),
    **dict.fromkeys(("execute", "exec", "open", "bind"), "run"),
    **dict.fromkeys(("history", "log", "executions"), "runs"),
    **dict.fromkeys(("eval", "measure", "score", "selection"), "evaluate"),
    **dict.fromkeys(("why", "show", "get", "describe"), "explain"),
    **dict.fromkeys(("require", "unrequire", "waive", "withdraw", "accept", "rules"), "policy"),
    **dict.fromkeys(("login", "auth", "tokens"), "token"),
    **dict.fromkeys(("download", "convert", "render", "save"), "export"),
    **dict.fromkeys(("diagnose", "health", "ping", "debug"), "doctor"),
    **dict.fromkeys(("warnings", "errors", "issues", "hygiene", "drift"), "problems"),
    "help": "--help",
    "version": "--version",
}
"""What other tools call it -> what it is here."""

_HELP = f"""Gives agents a company's real procedures: playbooks from git, merged for each repository.

Commands that ask a registry find it by REGISTRY_URL (default http://127.0.0.1:8080) and show it the token in
REGISTRY_TOKEN. Colours appear on a terminal only, and not where NO_COLOR is set. With --json, standard output is the
registry's JSON and nothing else.

{LEGEND}

\b
Start here:
  registry demo        see it work, with example repositories
  registry init        set up this working copy for agents
  registry check       check the playbooks in this folder
  registry doctor      find out what is wrong
"""

main = click.version_option(package_name="playbook-registry", prog_name="registry")(
    LazyGroup(name="registry", help=_HELP, listed=COMMANDS, elsewhere=ELSEWHERE)
)
"""The entry point of the command line."""
