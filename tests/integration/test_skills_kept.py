"""Skills of which not all bytes are kept, as after an upgrade: they are not listed, which the log says once."""

from pathlib import Path

import pytest
from shelf import CENTRAL, Item, Shelf, shelf
from structlog.testing import capture_logs

from policies.decision import Side
from registry.digest import digest_of

SKILL = b"---\nname: roll-back\ndescription: Roll back a release.\n---\nBody.\n"
WITH = {"scripts/a.sh": b"echo\n", "b.md": b"# B\n"}
PLAYBOOK = (
    b"playbook: 1\nname: plain\nversion: 1.0.0\nowner: o\npurpose: Do it.\nsteps: [{id: a, instruction: Do it.}]\n"
)


@pytest.fixture
def registry(tmp_path: Path):
    with shelf(tmp_path) as found:
        yield found


def put(registry: Shelf, *, keeps: bool) -> None:
    registry.put(
        CENTRAL, [Item("playbooks/plain.yaml", PLAYBOOK), Item("skills/roll-back/SKILL.md", SKILL, WITH, keeps=keeps)]
    )


def listed(registry: Shelf) -> list[str]:
    return [skill.package.name for skill in registry.services.skills.page(None).skills]


def test_a_skill_whose_original_is_not_kept_is_not_listed(registry: Shelf):
    put(registry, keeps=False)
    assert listed(registry) == ["plain"]
    assert registry.services.skills.find(None, Side.CENTRAL, "roll-back") is None


def test_a_skill_of_which_one_file_is_not_kept_is_not_listed(registry: Shelf):
    put(registry, keeps=False)
    registry.store.put_blobs({digest_of(SKILL): SKILL, digest_of(b"# B\n"): b"# B\n"})
    assert listed(registry) == ["plain"]


def test_it_is_listed_as_soon_as_its_bytes_are_there(registry: Shelf):
    put(registry, keeps=False)
    assert listed(registry) == ["plain"]
    put(registry, keeps=True)
    assert listed(registry) == ["plain", "roll-back"]
    assert b'"roll-back"' in registry.services.skill_indexes.index(None).body


def test_the_index_is_made_anew_until_the_bytes_are_there(registry: Shelf):
    put(registry, keeps=False)
    assert b'"roll-back"' not in registry.services.skill_indexes.index(None).body
    assert registry.services.skill_indexes.peek(None) is None
    put(registry, keeps=True)
    assert b'"roll-back"' in registry.services.skill_indexes.index(None).body
    assert registry.services.skill_indexes.peek(None) is not None


def test_the_log_says_once_what_is_not_offered_and_why(registry: Shelf):
    put(registry, keeps=False)
    with capture_logs() as lines:
        listed(registry)
        listed(registry)
    (line,) = [line for line in lines if line["event"] == "a playbook is not offered as a skill"]
    assert (line["playbook"], line["path"]) == ("roll-back", "skills/roll-back/SKILL.md")
    assert "not kept" in line["reason"]
