"""How a command ends: the exit codes, and one exception for each that is not 0 (docs/cli.md, Exit codes)."""

import click

OK = 0
NO = 1
MISUSED = 2
UNREACHABLE = 3

LEGEND = (
    "Exit codes: 0 done; 1 the answer is no (errors found, unknown, refused, unavailable); "
    "2 wrong usage or configuration; 3 the registry cannot be reached or failed."
)


class No(click.ClickException):
    """The question was understood and the answer is no: exit 1."""

    exit_code = NO

    def __init__(self, message: str, code: str = "") -> None:
        """`code` is the API's, where the answer came from there."""
        super().__init__(message)
        self.code = code


class Misused(click.ClickException):
    """Wrong usage or configuration, to be mended by the caller: exit 2."""

    exit_code = MISUSED

    def __init__(self, message: str, code: str = "") -> None:
        """`code` is the API's, where the refusal came from there."""
        super().__init__(message)
        self.code = code


class Unreachable(click.ClickException):
    """No registry there, or one that failed; the same command may succeed later: exit 3."""

    exit_code = UNREACHABLE

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        """`retry_after_s` is the pause that the registry asked for, where it did."""
        super().__init__(message)
        self.retry_after_s = retry_after_s
