import pytest
from cli import URL, answers, catalog, entry
from click.testing import CliRunner

from registry.cli.main import main
from registry.cli.terminal import prose, shown


@pytest.mark.parametrize("sign", ["\x00", "\x1b", "\n", "\x7f", "\x9b", "\u2028", "\u202e", "\u2066", "\ufeff"])
def test_what_could_steer_a_terminal_is_shown_as_its_number(sign: str):
    assert shown(f"a{sign}b") == f"a\\u{ord(sign):04x}b"


def test_other_scripts_are_shown_as_they_are():
    assert shown("Schlüssel 鍵") == "Schlüssel 鍵"


@pytest.mark.parametrize("nothing", [None, ""])
def test_nothing_is_a_dash(nothing: str | None):
    assert shown(nothing) == "-"


def test_prose_of_several_lines_is_one_line():
    assert prose("Roll back\n  a deploy.\n") == "Roll back a deploy."


def test_prose_does_nothing_to_a_terminal_either():
    assert prose("a\n\x1b[2Jb") == "a \\u001b[2Jb"


def test_zero_is_a_number():
    assert shown(0) == "0"


@pytest.mark.parametrize(("no_color", "coloured"), [(None, True), ("1", False), ("", True)])
def test_no_color_goes_before_a_terminal(no_color: str | None, coloured: bool):
    # `color` makes the runner's output pass for a terminal.
    with answers(body=catalog(entry(required=True))):
        environment = {"REGISTRY_URL": URL, "NO_COLOR": no_color}
        output = CliRunner().invoke(main, ["catalog"], env=environment, color=True).output
    assert ("\x1b[" in output) is coloured


def test_columns_are_as_wide_as_their_widest_cell():
    with answers(body=catalog(entry("a"), entry("much-longer"))):
        lines = CliRunner().invoke(main, ["catalog"], env={"REGISTRY_URL": URL}).stdout.splitlines()
    assert lines[2].startswith("a            2.1.0")
    assert lines[3].startswith("much-longer  2.1.0")
