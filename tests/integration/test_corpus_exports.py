"""Every real skill of the corpus in every form: none raises, and what is exported is read again."""

import json

import pytest
from corpus import ARCHIVE, skill_files, unpack

from registry.playbook.export.fields import FORMS
from registry.playbook.export.forms import export
from registry.playbook.export.skill import render_skill
from registry.playbook.model import Level
from registry.playbook.reading import read_file

pytestmark = pytest.mark.corpus

BODIES_KEPT_ASIDE_MAX = 10
"""Skills whose text has double braces that a native playbook would fill in: theirs is kept under `x-skill`."""


@pytest.fixture(scope="module")
def playbooks(tmp_path_factory):
    """(path, its bytes, playbook) of every skill that loads."""
    if not ARCHIVE.exists():
        pytest.skip(f"the corpus is not at {ARCHIVE}")
    corpus = unpack(tmp_path_factory.mktemp("corpus"))
    read = [(path, place.read_bytes()) for _, path, place in skill_files(corpus)]
    found = [(path, data, read_file(path, data).playbook) for path, data in read]
    return [(path, data, playbook) for path, data, playbook in found if playbook is not None]


def head_of(path, playbook):
    source = {
        "kind": "local",
        "repository": "github.com/acme/app",
        "commit": "0" * 40,
        "path": path,
        "blob": playbook.blob,
    }
    return {"title": playbook.title, "version": playbook.version, "owner": playbook.owner, "source": source}


def test_every_skill_loads_as_the_nearest_native_playbook(playbooks):
    refused, aside = [], 0
    for path, _, playbook in playbooks:
        made = export("native", json.loads(playbook.contract_bytes), head_of(path, playbook), bytes)
        reading = read_file(f"playbooks/{made.file_name}", made.body)
        refused += [(path, each.code, each.message) for each in reading.problems if each.level is Level.ERROR]
        if reading.playbook is not None:
            aside += "instructions" in reading.playbook.contract["extra"].get("x-skill", {})
            assert reading.playbook.key == playbook.key
    assert refused == []
    assert aside <= BODIES_KEPT_ASIDE_MAX


def test_every_skill_rendered_anew_is_read_without_a_warning(playbooks):
    remarks = []
    for path, _, playbook in playbooks:
        made = render_skill(json.loads(playbook.contract_bytes), head_of(path, playbook))
        reading = read_file(f"skills/{playbook.key}/SKILL.md", made.body)
        remarks += [(path, each.code, each.message) for each in reading.problems]
    assert remarks == []


@pytest.mark.parametrize("form", FORMS)
def test_every_skill_has_every_form(playbooks, form):
    for path, data, playbook in playbooks:
        made = export(form, json.loads(playbook.contract_bytes), head_of(path, playbook), lambda data=data: data)
        assert made.body
