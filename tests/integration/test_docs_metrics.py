"""docs/metrics.md lists exactly what /metrics shows, with types and labels."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from shellblocks import page
from world import playbook, running

from registry import wiring
from registry.ports import SyncState
from registry.telemetry import Telemetry

ROW = re.compile(
    r"^\| `(?P<name>registry_\w+)` \| (?P<type>\w+) \| (?P<labels>[^|]+) \| (?P<text>[^|]+) \|$", re.MULTILINE
)
TABLE = {found["name"]: found for found in ROW.finditer(page("docs/metrics.md"))}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, set[str], str]]:
    """metric -> (type, labels, help), of a process that has answered once."""
    folder: Path = tmp_path_factory.mktemp("metrics")
    with running(folder, {"playbooks/a.yaml": playbook("a")}) as world:
        telemetry = Telemetry(world.services, wiring.now)
        telemetry.observe("catalog", 200, 0.001)
        telemetry.observe_tool("search_playbooks", "ok")
        text = telemetry.text().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        if not family.name.endswith("_created"):
            name = family.name + ("_total" if family.type == "counter" else "")
            labels = {label for sample in family.samples for label in sample.labels} - {"le"}
            found[name] = (family.type, labels, family.documentation)
    return found


def test_every_metric_has_a_row_and_every_row_a_metric(shown: dict):
    assert set(TABLE) == set(shown)


@pytest.mark.parametrize("name", TABLE)
def test_a_row_says_the_type_the_labels_and_the_meaning(name: str, shown: dict):
    kind, labels, text = shown[name]
    row = TABLE[name]
    assert (row["type"], set(re.findall(r"`(\w+)`", row["labels"])), row["text"]) == (kind, labels, text)


def test_every_sync_state_is_explained_for_operators():
    assert set(re.findall(r"^\| `([a-z-]+)` \|", page("docs/operators.md"), re.MULTILINE)) == {
        state.value for state in SyncState
    }
