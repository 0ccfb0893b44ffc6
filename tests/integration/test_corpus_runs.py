"""Every real skill can be run: its text comes back as it was written, whatever double braces it has."""

import json

import pytest
from corpus import skill_files, unpack

from registry.playbook.reading import read_file
from registry.runs.binding import Procedure, bind
from registry.runs.inputs import Given, take

pytestmark = pytest.mark.corpus


def test_every_real_skill_is_bound_and_nothing_in_it_is_rendered(tmp_path):
    bound = braces = 0
    for _, path, place in skill_files(unpack(tmp_path)):
        playbook = read_file(path, place.read_bytes()).playbook
        if playbook is None:
            continue
        contract = json.loads(playbook.contract_bytes)
        given = take(contract.get("inputs"), {"x": 1})
        assert isinstance(given, Given), path
        procedure = bind(contract, given)
        assert isinstance(procedure, Procedure), path
        assert procedure.body.get("instructions") == contract.get("instructions"), path
        assert procedure.unset == (), path
        bound += 1
        braces += "{{" in contract.get("instructions", "")
    assert bound > 1_500
    assert braces > 10
