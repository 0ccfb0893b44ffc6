"""`python -m registry.cli`: the same as `registry`."""

from registry.cli.main import main

main(prog_name="registry")
