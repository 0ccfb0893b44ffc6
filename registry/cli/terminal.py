"""What is written where: answers to standard output, notes and progress to standard error.

Names, paths and messages come out of other people's repositories, so everything shown passes `shown`: an escape
sequence in a playbook must not reach a terminal.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer

import click

PROGRESS_AFTER_S = 1.0

# C0 and C1 controls, line and paragraph separators, and the marks that turn the direction of text around.
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def shown(value: object) -> str:
    """`value` as one line of text that does nothing to a terminal; None is a dash."""
    if value is None or value == "":
        return "-"
    return _UNSHOWABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", str(value))


def prose(value: object) -> str:
    """Like `shown`, for text that its author broke into lines: the breaks become spaces."""
    return shown(" ".join(value.split()) if isinstance(value, str) else value)


def say(text: str = "") -> None:
    """Write a line of the answer to standard output."""
    click.echo(text)


def note(text: str) -> None:
    """Write a line that is not the answer to standard error."""
    click.echo(text, err=True)


def write_json(body: bytes) -> None:
    """Write the registry's JSON to standard output as it came, with a newline at the end."""
    click.echo(body.decode().rstrip("\n"))


def heading(text: str) -> str:
    """`text` as the heading of a section."""
    return click.style(text, bold=True)


def good(text: str) -> str:
    """`text` in the colour of what is well."""
    return click.style(text, fg="green")


def bad(text: str) -> str:
    """`text` in the colour of what is broken."""
    return click.style(text, fg="red")


def doubtful(text: str) -> str:
    """`text` in the colour of what wants a look."""
    return click.style(text, fg="yellow")


def faint(text: str) -> str:
    """`text` set back."""
    return click.style(text, dim=True)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write rows in columns as wide as their widest cell; cells may be styled. The last column is not padded."""
    widths = [max(len(click.unstyle(row[at])) for row in (header, *rows)) for at in range(len(header))]
    say(faint(_line(header, widths)))
    for row in rows:
        say(_line(row, widths))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - len(click.unstyle(cell))) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join([*padded[:-1], cells[-1]]).rstrip()


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Show that something is under way once it takes longer than a second, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a person at a terminal needs it

    status = Console(stderr=True).status(text)
    timer = Timer(PROGRESS_AFTER_S, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
