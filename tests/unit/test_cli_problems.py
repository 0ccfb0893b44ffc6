from urllib.parse import parse_qsl

import httpx
import respx
from cli import URL, answers, asked, run


def row(repository: str = "github.com/acme/payments", **changes) -> dict:
    return {
        "repository": repository,
        "code": "shadow-drift",
        "level": "warning",
        "path": "playbooks/a.yaml",
        "line": 1,
        "column": 1,
        "message": "central's a has moved on.",
        "name": "a",
        "held": False,
        **changes,
    }


def page(*rows: dict, cursor: str | None = None) -> dict:
    return {"items": list(rows), "next_cursor": cursor}


def test_problems_stand_under_their_repository():
    with answers(body=page(row(), row(path="playbooks/b.yaml"), row("github.com/acme/search", held=True))):
        result = run("problems")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "github.com/acme/payments",
        "  playbooks/a.yaml:1:1: warning shadow-drift: central's a has moved on.",
        "  playbooks/b.yaml:1:1: warning shadow-drift: central's a has moved on.",
        "github.com/acme/search",
        "  playbooks/a.yaml:1:1: warning shadow-drift: central's a has moved on. (an earlier good copy serves)",
    ]


def test_filters_are_what_the_registry_is_asked():
    with answers(body=page()) as registry:
        result = run("problems", "acme/x", "--code", "a", "--code", "b", "--level", "error", "--team", "t")
        request = asked(registry)
    assert request.url.path == "/v1/problems"
    assert sorted(parse_qsl(request.url.query.decode())) == [
        ("code", "a"),
        ("code", "b"),
        ("level", "error"),
        ("limit", "200"),
        ("repository", "acme/x"),
        ("team", "t"),
    ]
    assert result.stdout == "no problems\n"


def test_every_page_is_shown():
    with respx.mock(base_url=URL) as registry:
        registry.get("/v1/problems", params={"cursor": "x#1"}).mock(httpx.Response(200, json=page(row("b"))))
        registry.get("/v1/problems").mock(httpx.Response(200, json=page(row("a"), cursor="x#1")))
        result = run("problems", "--code", "shadow-drift")
        queries = [str(call.request.url) for call in registry.calls]
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == ["a", "b"]
    assert all("code=shadow-drift" in query for query in queries)


def test_json_is_one_page_as_the_registry_gave_it():
    with answers(body=page(row(), cursor="x#1")):
        result = run("problems", "--json", "--limit", "1")
    assert result.stdout.startswith("{")
    assert '"next_cursor"' in result.stdout


def test_what_a_registry_says_is_shown_without_control_characters():
    with answers(body=page(row(message="\x1b[31mred\x07"))):
        assert "\x1b" not in run("problems").stdout
