"""`POST /v1/preview`: what it says of a change, and what becomes of bodies that somebody made up."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from api_registry import AS_ADMIN, Bare, bare
from hypothesis import given, settings
from hypothesis import strategies as st
from world import ADMIN as ADMIN_PRINCIPAL
from world import World, playbook, running

from registry.api.preview import VALUES_MAX
from registry.api.proposals import PREVIEW_BYTES_MAX, PreviewBody
from registry.api.threads import Threads
from registry.errors import Refusal, Unavailable

DIGEST = "sha256:" + "a" * 64


def copy(name: str = "own", **members: object) -> dict[str, object]:
    return {
        "name": name,
        "state": "good",
        "path": f"playbooks/{name}.yaml",
        "version": "1",
        "digest": DIGEST,
        **members,
    }


def body(*copies: dict[str, object], role: str = "service", **members: object) -> dict[str, object]:
    named = {"repository": "github.com/acme/payments"} if role == "service" else {}
    return {"role": role, **named, "revision": {"copies": list(copies)}, **members}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Central with one required name; payments has a copy of the other one."""
    central = {
        "playbooks/deploy.yaml": playbook("deploy", required="true"),
        "playbooks/drain.yaml": playbook("drain"),
    }
    with running(tmp_path_factory.mktemp("preview"), central) as made:
        made.service("payments", {"playbooks/drain.yaml": playbook("drain", version="9.0.0")})
        made.service("search", {"playbooks/own.yaml": playbook("own")})
        yield made


@pytest.fixture(scope="module")
def registry(world: World) -> Bare:
    from registry.api.app import create_app

    return Bare(create_app(world.services, anonymous_read=True), world.services, world.store)


@pytest.fixture(scope="module")
def unread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    """A registry that has not read central, and that nobody may read without a token."""
    with bare(tmp_path_factory.mktemp("unread"), anonymous_read=False) as made:
        yield made


def ask(registry: Bare, sent: object) -> httpx.Response:
    return registry.ask("POST", "/v1/preview", json=sent)


def names(answer: httpx.Response, sort: str) -> list[str]:
    return [row["name"] for row in answer.json()["effect"][sort]["items"]]


def test_a_change_of_a_service_is_compared_with_what_is_in_force(registry: Bare):
    answer = ask(registry, body(copy("deploy")))
    assert (answer.status_code, answer.json()["compared_with"]) == (200, "in-force")
    assert (names(answer, "removed"), names(answer, "added"), names(answer, "refused")) == (
        ["drain"],
        ["deploy"],
        ["deploy"],
    )


def test_with_a_base_only_what_the_change_does_is_told(registry: Bare):
    answer = ask(registry, body(copy("deploy"), copy(), base={"copies": [copy()]}))
    assert (answer.json()["compared_with"], names(answer, "removed"), names(answer, "added")) == (
        "base",
        [],
        ["deploy"],
    )


def test_a_repository_that_nobody_registered_can_be_looked_at(registry: Bare):
    answer = ask(registry, body(copy("drain"), repository="https://github.com/acme/new.git"))
    found = answer.json()
    assert (found["repository"], found["registered"], found["compared_with"]) == (
        "github.com/acme/new",
        False,
        "nothing",
    )
    assert names(answer, "shadowing") == ["drain"]


def test_a_change_of_central_is_told_for_every_repository(registry: Bare):
    change = [copy("deploy", required=True), copy("drain", required=True)]
    found = ask(registry, body(*change, role="central")).json()
    (refused,) = found["effect"]["refused"]["items"]
    assert (refused["repository"], refused["team"], refused["version"]) == (
        "github.com/acme/payments",
        "payments",
        "9.0.0",
    )
    assert [item["name"] for item in found["rules"]["required"]["items"]] == ["drain"]
    assert found["repositories"]["changed"]["count"] == 2


def test_a_waiver_that_is_over_when_it_is_proposed_frees_nobody(registry: Bare):
    # No waiver in force ends, so the stored rule date never moved.
    waiver = {"name": "drain", "repository": "github.com/acme/payments", "until": "2020-01-31", "reason": "Old."}
    change = [copy("deploy", required=True), copy("drain", required=True)]
    sent = body(*change, role="central")
    sent["revision"] = {"copies": change, "policy": {"waivers": [waiver]}}
    found = ask(registry, sent).json()
    (idle,) = found["rules"]["unmatched"]["items"]
    assert (idle["kind"], idle["why"], idle["new"]) == ("waiver", "its last day is over", True)
    assert (found["effect"]["waived"]["count"], found["effect"]["refused"]["count"]) == (0, 1)


def test_a_copy_of_central_without_a_policy_file_keeps_the_last_good_rules(registry: Bare):
    base = {"copies": [copy("drain")], "policy": {"marks": [{"name": "drain", "reason": "Audited."}]}}
    found = ask(registry, body(copy("drain"), role="central", base=base)).json()
    assert (found["rules_stay"], found["rules"]["no_longer_required"]["count"]) == (True, 0)


def test_a_mass_change_is_told_before_it_is_held_back(registry: Bare):
    # What would be taken away is told of what is in force, whatever the base.
    assert ask(registry, body()).json()["suspended"] is None


def test_files_read_by_other_rules_are_told(registry: Bare):
    assert ask(registry, body(copy(), loader="none-such")).json()["same_loader"] is False


def test_a_change_of_central_cannot_pass_for_a_services(registry: Bare, world: World):
    answer = ask(registry, body(repository=world.services.in_force.view.central))
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/request-invalid")


def test_a_service_must_be_named(registry: Bare):
    answer = ask(registry, {"role": "service", "revision": {"copies": []}})
    assert "repository is missing" in answer.json()["detail"]


def test_nothing_is_kept(registry: Bare, world: World):
    before = world.store.sequence()
    ask(registry, body(copy("deploy")))
    ask(registry, body(copy("deploy"), role="central"))
    assert world.store.sequence() == before


def test_reading_is_needed_and_enough(unread: Bare):
    assert unread.ask("POST", "/v1/preview", json=body()).status_code == 401
    writer = unread.token("repository:write", team="payments")
    assert unread.ask("POST", "/v1/preview", json=body(), headers=writer).status_code == 403
    reader = unread.ask("POST", "/v1/preview", json=body(), headers=unread.token("catalog:read"))
    assert (reader.status_code, reader.json()["type"]) == (503, "/problems/unavailable")


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "role is missing"),
        (body(role="admin"), "role"),
        (body(copy("Not A Name")), "revision.copies.0.name"),
        (body(copy("a" * 65)), "revision.copies.0.name"),
        (body(copy(digest="sha256:x")), "revision.copies.0.digest"),
        (body(copy(digest=None)), "digest is there exactly where"),
        (body(copy(state="broken")), "digest is there exactly where"),
        (body(copy(state="withdrawn")), "revision.copies.0.state"),
        (body(copy(), copy()), "two copies"),
        (body(copy(path="")), "revision.copies.0.path"),
        (body(copy(tags=["t"] * 21)), "revision.copies.0.tags"),
        (body(copy(required="yes")), "revision.copies.0.required"),
        (body(copy(admin=True)), "is no member"),
        (body(copy(), repository="../../etc"), "segment"),
        (body(copy(), repository="nowhere"), "repository"),
        (body(role="central", base={"copies": [], "policy": {"marks": [{"reason": "both or none"}]}}), "name or a tag"),
        (
            body(role="central", base={"copies": [], "policy": {"waivers": [{"name": "a", "repository": "a/b/c"}]}}),
            "until is missing",
        ),
        ([1], "not what this call takes"),
    ],
)
def test_a_body_that_is_none_is_refused_with_what_is_wrong(registry: Bare, sent: object, said: str):
    answer = ask(registry, sent)
    assert answer.status_code == 400, answer.text
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[" * 100_000,
        b'{"role": "service", "role": "central"}',
        b'{"role": "central", "revision": {"copies": [], "copies": []}}',
        b'{"role": "service", "repository": "\\ud800/a/b", "revision": {"copies": []}}',
        b'{"role": "central", "revision": {"copies": [], "unread": ["\\ud800"]}}',
        b"\xff\xfe{}",
        b'{"role": "central", "revision": {"copies": 1e999}}',
    ],
)
def test_bytes_that_are_no_body_are_refused(registry: Bare, data: bytes):
    headers = {"Content-Type": "application/json"}
    answer = registry.ask("POST", "/v1/preview", content=data, headers=headers)
    assert answer.status_code == 400, answer.text


def test_a_form_is_not_read(registry: Bare):
    answer = registry.ask("POST", "/v1/preview", data={"role": "central"})
    assert (answer.status_code, "Content-Type" in answer.json()["detail"]) == (400, True)


def test_a_body_over_the_limit_is_refused(registry: Bare):
    headers = {"Content-Type": "application/json"}
    answer = registry.ask("POST", "/v1/preview", content=b" " * (PREVIEW_BYTES_MAX + 1), headers=headers)
    assert (answer.status_code, "8 MiB" in answer.json()["detail"]) == (413, True)


@pytest.mark.parametrize(
    "data",
    [
        b'{"role": "central", "revision": {"copies": [' + b"1," * VALUES_MAX + b"1]}}",
        b'{"role": "central", "revision": {"copies": [' + b"{}," * VALUES_MAX + b"{}]}}",
        b'{"role": "central"' + b"".join(b', "%d": 1' % number for number in range(VALUES_MAX + 1)) + b"}",
    ],
)
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(registry: Bare, data: bytes):
    answer = registry.ask("POST", "/v1/preview", content=data, headers={"Content-Type": "application/json"})
    assert (answer.status_code, f"{VALUES_MAX} values" in answer.json()["detail"]) == (413, True)


def test_the_largest_repository_fits_twice(registry: Bare):
    copies = [
        copy(f"playbook-{number:05d}", path=f"services/payments/playbooks/playbook-{number:05d}.yaml")
        for number in range(10_000)
    ]
    sent = json.dumps(body(*copies, base={"copies": copies}))
    assert len(sent) < PREVIEW_BYTES_MAX
    headers = {"Content-Type": "application/json"}
    answer = registry.ask("POST", "/v1/preview", content=sent.encode(), headers=headers)
    assert (answer.status_code, answer.json()["effect"]["added"]["count"]) == (200, 0)


def test_an_answer_lists_so_many_rows_and_counts_all(registry: Bare):
    answer = ask(registry, body(*(copy(f"playbook-{number}") for number in range(600))))
    listed = answer.json()["effect"]["added"]
    assert (listed["count"], len(listed["items"])) == (600, 500)


def test_no_parameter_is_taken(registry: Bare):
    assert registry.ask("POST", "/v1/preview?repository=a.example/b/c", json=body()).status_code == 400


def test_a_full_queue_is_told_to_come_back_later():
    import asyncio

    async def fill() -> None:
        threads = Threads("test", 1, 1)
        gate = threading.Event()
        try:
            under_way = [asyncio.create_task(threads.run(gate.wait)) for _ in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(Unavailable), threads.place():
                pass
            gate.set()
            await asyncio.gather(*under_way)
            with threads.place():
                assert await threads.work(str) == ""
        finally:
            gate.set()
            threads.close()

    asyncio.run(fill())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
MEMBERS = ["name", "state", "path", "version", "digest", "tags", "required", "replaced_by", "problem"]


@given(
    st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(MEMBERS, JSON)) | JSON, max_size=4),
    st.dictionaries(st.sampled_from(["policy", "unread", "x"]), JSON, max_size=2),
    st.sampled_from(["central", "service"]),
)
@settings(max_examples=150, deadline=None)
def test_any_json_is_a_proposal_or_refused(copies: list[object], more: dict[str, object], role: str):
    from registry.api.bodies import read_body

    sent = {"role": role, "repository": "a.example/b/c", "revision": {"copies": copies, **more}}
    try:
        proposal = read_body(PreviewBody, json.dumps(sent).encode(), "application/json").proposal()
    except Refusal:
        return
    assert len({item.name for item in proposal.proposed.revision.copies}) == len(copies)


def test_the_schema_names_every_part_of_the_body(registry: Bare):
    schemas = registry.ask("GET", "/schema/openapi.json").json()["components"]["schemas"]
    assert {
        "PreviewBody",
        "ProposedRevision",
        "ProposedCopy",
        "ProposedPolicy",
        "ProposedMark",
        "ProposedWaiver",
    } <= set(schemas)
    assert "$defs" not in json.dumps(schemas)


def test_a_reader_needs_no_other_scope(unread: Bare):
    assert unread.ask("POST", "/v1/preview", json=body(), headers=AS_ADMIN).status_code == 503


def test_paths_lead_nowhere(registry: Bare, tmp_path: Path):
    answer = ask(registry, body(copy(path="../../../../etc/passwd"), repository="a.example/b/c"))
    assert answer.json()["effect"]["added"]["items"][0]["path"] == "../../../../etc/passwd"


def test_what_repositories_have_is_followed(registry: Bare, world: World):
    change = body(
        copy("deploy", required=True), copy("drain", required=True), copy("late", required=True), role="central"
    )
    assert "late" not in names(ask(registry, change), "refused")
    world.service("late", {"playbooks/late.yaml": playbook("late")})
    try:
        assert "late" in names(ask(registry, change), "refused")
    finally:
        world.services.repositories.deregister(ADMIN_PRINCIPAL, "github.com/acme/late")
    assert "late" not in names(ask(registry, change), "refused")


@pytest.mark.parametrize(
    ("code", "said"), [("no-stop", ["Of a file"]), ("too-large", ["HTTP status 413", "Of a file"])]
)
def test_a_problem_of_a_file_has_its_page(registry: Bare, code: str, said: list[str]):
    answer = registry.ask("GET", f"/problems/{code}")
    assert answer.status_code == 200
    assert all(text in answer.text for text in said)
