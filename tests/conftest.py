"""What every test stands on: hypothesis profiles, a git identity of its own, and an environment without a stray git.

Builders stand in tests/support/, by the thing that they build.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

GIT_IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada Example",
    "GIT_AUTHOR_EMAIL": "ada@acme.example",
    "GIT_COMMITTER_NAME": "Ada Example",
    "GIT_COMMITTER_EMAIL": "ada@acme.example",
    # The configuration of whoever runs the tests (signing, hooks, templates, url rewrites) stays out.
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "init.defaultBranch",
    "GIT_CONFIG_VALUE_0": "main",
    "GIT_TERMINAL_PROMPT": "0",
}
"""What git's environment holds during a test, and nothing besides."""

# A slow machine is no failure: no deadline. CI runs the same examples each time, and says how to repeat one.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# A hook or a rebase that runs the tests leaves GIT_DIR and the like behind, which would point every git at its repository.
for _name in [name for name in os.environ if name.startswith("GIT_")]:
    del os.environ[_name]
os.environ.update(GIT_IDENTITY)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say aloud what was not tested at all, which a row of letters would hide."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {str(report.longrepr[2]) for report in skipped if isinstance(report.longrepr, tuple)}
    for reason in sorted(reason.removeprefix("Skipped: ") for reason in reasons):
        if reason.startswith("NOT TESTED"):
            terminalreporter.write_line(f"WARNING: {reason}", red=True, bold=True)


@pytest.fixture(autouse=True)
def git_environment_as_set() -> Iterator[None]:
    """Fails a test that leaves another git environment behind than it found."""
    yield
    left = {name: value for name, value in os.environ.items() if name.startswith("GIT_")}
    if left != GIT_IDENTITY:
        changed = sorted(name for name in left.keys() | GIT_IDENTITY.keys() if left.get(name) != GIT_IDENTITY.get(name))
        for name in changed:
            os.environ.pop(name, None)
        os.environ.update(GIT_IDENTITY)
        pytest.fail(f"the test left a git environment of its own behind: {', '.join(changed)}; use monkeypatch.setenv")
