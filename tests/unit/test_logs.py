import json

import pytest
import structlog

from registry import logs
from registry.logs import redact

SECRET = "hunter2hunter2"


@pytest.fixture(autouse=True)
def logging_as_before():
    yield
    structlog.reset_defaults()


def logged(capsys, log_format: str, **members: object) -> str:
    """What one warning with these members writes."""
    logs.configure(log_format, "info")
    structlog.get_logger().warning("something happened", **members)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        f"https://ada:{SECRET}@git.example/acme/app",
        f"https://{SECRET}@git.example/acme/app",
        f"fatal: unable to access 'https://x-access-token:{SECRET}@git.example/a/b/': 403",
        f"Authorization: Bearer {SECRET}",
        f"AUTHORIZATION: basic {SECRET}",
        f"pbr_{SECRET}",
        f"GET /a?access_token={SECRET}&b=1",
        f"postgresql://registry:{SECRET}@db.example/registry",
        f"password={SECRET}",
    ],
)
def test_a_secret_is_taken_out(text):
    assert SECRET not in redact(text)


@pytest.mark.parametrize("text", ["https://git.example/acme/app", "user@host:path", "3 < 4 and 5 = 5", "line\nbreak"])
def test_what_is_no_secret_stays(text):
    assert redact(text) == text


@pytest.mark.parametrize("log_format", ["console", "json"])
@pytest.mark.parametrize(
    "value",
    [
        f"https://ada:{SECRET}@git.example/a/b",
        [f"https://ada:{SECRET}@git.example/a/b"],
        {"remote": (f"https://ada:{SECRET}@git.example/a/b",)},
        ValueError(f"https://ada:{SECRET}@git.example/a/b"),
    ],
)
def test_no_member_of_a_line_carries_a_secret(capsys, log_format, value):
    written = logged(capsys, log_format, seen=value)
    assert "git.example" in written
    assert SECRET not in written


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_no_traceback_carries_a_secret(capsys, log_format):
    logs.configure(log_format, "info")
    password = SECRET
    try:
        int(f"https://ada:{password}@git.example/a/b")
    except ValueError:
        structlog.get_logger().exception("it failed")
    written = capsys.readouterr().err
    assert "ValueError" in written
    assert "git.example" in written
    assert SECRET not in written


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_what_a_remote_says_neither_steers_the_terminal_nor_makes_a_line_of_its_own(capsys, log_format):
    written = logged(capsys, log_format, reason="no\x1b[2J\r\n2026-01-01 [error] forged")
    assert "\x1b" not in written
    assert written.count("\n") == 1


def test_a_line_of_json_is_an_object_with_its_event_and_level(capsys):
    line = json.loads(logged(capsys, "json", number=3, flag=True, nothing=None))
    assert (line["event"], line["level"]) == ("something happened", "warning")
    assert (line["number"], line["flag"], line["nothing"]) == (3, True, None)


def test_a_huge_value_does_not_fill_the_disk(capsys):
    assert len(logged(capsys, "json", reason="x" * 1_000_000)) < 20_000
