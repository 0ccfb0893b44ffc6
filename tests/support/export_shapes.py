"""Contracts and heads of files, as an export is given them."""

import json
from collections.abc import Sequence

from registry.catalog.revision import Source, head_json, head_of
from registry.playbook.companions import Companion
from registry.playbook.model import Playbook
from registry.playbook.reading import read_file

CENTRAL = "github.com/acme/playbooks"


def read_text(path: str, data: bytes, companions: Sequence[Companion] = ()) -> Playbook:
    """The playbook of a file, which must load."""
    reading = read_file(path, data, companions=companions)
    assert reading.playbook is not None, reading.problems
    return reading.playbook


def head_of_file(playbook: Playbook) -> tuple[dict, dict]:
    """(contract, head) of a playbook of the central repository, as JSON."""
    source = Source("central", CENTRAL, "c" * 40, playbook.path, playbook.blob)
    return json.loads(playbook.contract_bytes), head_json(head_of(playbook, source))
