"""What `registry init` adds beside the hosts' files: an example playbook and the check of pull requests. Pure.

Both are the project's own examples, so that what a newcomer gets is what is tested.
"""

from collections.abc import Iterable
from importlib.resources import files
from typing import Final

from registry.cli.schema import EXAMPLES

EXAMPLE_NAME: Final = "rotate-signing-key"
EXAMPLE_PATH: Final = f"playbooks/{EXAMPLE_NAME}.yaml"
WORKFLOW_PATH: Final = ".github/workflows/playbooks.yml"
GITHUB: Final = "github.com"

_WORKFLOW: Final = ("examples", "ci", "github-workflow.yml")
_CHECK: Final = "registry check"


def example_playbook() -> str:
    """A playbook to begin with, as `registry schema playbook --example` prints it."""
    return files("registry").joinpath("examples", "central", EXAMPLES["playbook"]).read_text(encoding="utf-8")


def github_workflow() -> str:
    """The workflow that checks a pull request's playbooks."""
    return files("registry").joinpath(*_WORKFLOW).read_text(encoding="utf-8")


def is_checked(workflows: Iterable[str]) -> bool:
    """Whether one of these workflows runs `registry check` already."""
    return any(_CHECK in text for text in workflows)
