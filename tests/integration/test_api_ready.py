"""Prepared answers: given again as they are, and not a moment longer than they are right."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from world import PLATFORM, World, playbook, running

from registry.api.app import create_app


@dataclass
class Asked:
    world: World
    application: object
    anonymous_read: bool = True

    def get(self, path: str = "/v1/catalogs", **headers: str) -> httpx.Response:
        async def send() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(self.application), base_url="http://registry.example"
            ) as client:
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                return await client.get(path, headers=named)

        return asyncio.run(send())

    @property
    def ready(self):
        return self.application._by_prefix[0][2].__self__.ready


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder: Path = tmp_path_factory.mktemp("ready")
    files = {f"playbooks/{name}.yaml": playbook(name) for name in ("deploy", "rotate")}
    with running(folder, files) as world:
        yield Asked(world, create_app(world.services, anonymous_read=True))


def test_the_second_answer_says_what_the_first_said(asked):
    first, second = asked.get(), asked.get()
    assert (second.status_code, second.content) == (200, first.content)
    same = {name: value for name, value in first.headers.items() if name != "catalog-state"}
    assert {name: value for name, value in second.headers.items() if name != "catalog-state"} == same


def test_each_coding_has_its_own_answer(asked):
    for _ in range(2):
        assert asked.get(accept_encoding="gzip").headers["content-encoding"] == "gzip"
        assert "content-encoding" not in asked.get(accept_encoding="identity").headers


def test_who_has_it_is_told_so_twice(asked):
    etag = asked.get().headers["etag"]
    for _ in range(2):
        answer = asked.get(if_none_match=etag)
        assert (answer.status_code, answer.content) == (304, b"")


def test_another_tag_is_not_taken_for_it(asked):
    etag = asked.get().headers["etag"]
    assert asked.get(if_none_match=etag).status_code == 304
    assert asked.get(if_none_match='"sha256:another"').status_code == 200


def test_a_mark_is_in_the_very_next_answer(asked):
    before = [asked.get().headers["etag"] for _ in range(2)][1]
    asked.world.services.policy.mark(PLATFORM, "deploy", "audited")
    try:
        assert asked.get().headers["etag"] != before
        assert asked.get(if_none_match=before).status_code == 200
    finally:
        asked.world.services.policy.unmark(PLATFORM, "deploy")
    assert asked.get().headers["etag"] == before


def test_a_token_that_is_none_is_refused_beside_a_prepared_answer(asked):
    asked.get()
    asked.get()
    assert asked.get(authorization="Bearer nonsense").status_code == 401


def test_a_reader_without_a_token_is_refused_where_reading_is_not_open(asked):
    closed = Asked(asked.world, create_app(asked.world.services, anonymous_read=False))
    assert [closed.get().status_code for _ in range(2)] == [401, 401]


def test_made_up_headers_do_not_fill_the_memory(asked):
    asked.get()
    for number in range(100):
        asked.get(if_none_match=f'"{number}"')
    (ready,) = [item for key, item in asked.ready._ready.items() if key == (b"/v1/catalogs", b"")]
    assert len(ready.forms) <= 16


def test_a_long_header_is_answered_and_not_kept(asked):
    asked.get()
    assert asked.get(if_none_match='"' + "x" * 600 + '"').status_code == 200
    (ready,) = [item for key, item in asked.ready._ready.items() if key == (b"/v1/catalogs", b"")]
    assert all(len(key[1] or b"") < 512 for key in ready.forms)


def test_callers_who_ask_in_different_forms_do_not_drive_each_other_out(asked):
    asked.world.services.policy.mark(PLATFORM, "rotate", "a new view")
    for _ in range(2):
        for coding in ("gzip", "identity"):
            asked.get(accept_encoding=coding)
    asked.world.services.policy.unmark(PLATFORM, "rotate")
    (ready,) = [item for key, item in asked.ready._ready.items() if key == (b"/v1/catalogs", b"")]
    assert {coding for coding, _ in ready.forms} == {b"gzip", b"identity"}


def test_answers_of_earlier_views_are_let_go_of(asked):
    for number in range(5):
        asked.get(f"/v1/catalogs/github.com/acme/repository-{number}")
        asked.world.services.policy.mark(PLATFORM, "rotate", f"reason {number}")
    asked.world.services.policy.unmark(PLATFORM, "rotate")
    assert len({item.validity.view.sequence for item in asked.ready._ready.values()}) == 1


def test_prepared_answers_are_bounded_in_all(asked):
    for number in range(20):
        for tag in range(20):
            asked.get(f"/v1/catalogs/github.com/acme/many-{number}", if_none_match=f'"{tag}"')
    assert sum(len(item.forms) for item in asked.ready._ready.values()) == asked.ready._forms
