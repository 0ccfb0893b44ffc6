"""The bytes of every form, pinned: a form that changes changes the tags that callers hold, and is seen in a diff."""

import json
from pathlib import Path

import pytest

from registry.playbook.companions import Companion
from registry.playbook.export.forms import export
from registry.playbook.reading import read_file

GOLDEN = Path(__file__).parents[1] / "golden"
RUNBOOK = {
    "runbook_id": "fail-over",
    "title": "Fail over to the other region",
    "mode": "required",
    "failure_policy": "fail_closed",
    "allowed_tools": ["db.status", "db.*"],
    "checkpoints": [{"id": "cp", "kind": "tool_call", "required": True, "match": {"tool": "db.status"}, "weight": 3}],
    "completion": {"condition": "final_output"},
    "contact": "#db",
}
OPENPLAYBOOK = {
    "manifest": {"name": "answer-refund", "version": "2", "owner": "support", "tags": ["refunds", "money"]},
    "purpose": "Answer a <customer> who wants *money* back.",
    "tools": [
        {
            "name": "refunds.pay",
            "source": "connector",
            "riskClass": "money",
            "sideEffecting": True,
            "permissions": ["pay"],
        }
    ],
    "requires": {"mcpServers": [{"name": "refunds", "tools": ["refunds.get"]}], "secrets": []},
    "steps": [
        {"id": "look", "kind": "agent", "prompt": "Look at it.", "allowedTools": ["refunds.get"], "next": "wait"},
        {"id": "wait", "kind": "approval", "who": "finance"},
        {"id": "pay", "prompt": "Pay {{ amount }}.", "allowedTools": ["refunds.pay"]},
    ],
}
SKILL = """\
---
name: roll-back
description: "Take a deploy back: use it when errors rise."
license: MIT
metadata: {owner: platform, tags: "deploys, incidents"}
allowed-tools: Bash(git log:*) Read
---

# Roll back

```sh
scripts/back.sh
```
"""
COMPANIONS = (Companion("scripts/back.sh", "sha256:" + "0" * 64, 10),)
SOURCES = {
    "full": ("playbooks/full.yaml", (GOLDEN / "playbook-source-full.yaml").read_bytes(), ()),
    "prose": ("playbooks/prose.md", (GOLDEN / "playbook-source-prose.md").read_bytes(), ()),
    "runbook": ("playbooks/fail-over.runbook.json", json.dumps(RUNBOOK).encode(), ()),
    "openplaybook": ("playbooks/refund.openplaybook.json", json.dumps(OPENPLAYBOOK).encode(), ()),
    "skill": ("skills/roll-back/SKILL.md", SKILL.encode(), COMPANIONS),
}
ENDINGS = {"native": "native", "skill": "skill.md", "mcp-tool": "mcp-tool.json", "markdown": "page.md"}


def exported(source: str, form: str):
    path, data, companions = SOURCES[source]
    playbook = read_file(path, data, companions=companions).playbook
    head = {
        "title": playbook.title,
        "version": playbook.version,
        "owner": playbook.owner,
        "digest": playbook.digest,
        "source": {
            "kind": "central",
            "repository": "github.com/acme/playbooks",
            "commit": "1" * 40,
            "path": path,
            "blob": playbook.blob,
        },
    }
    return export(form, json.loads(playbook.contract_bytes), head, lambda: data)


@pytest.mark.parametrize("form", ENDINGS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_form_has_the_pinned_bytes(source, form):
    assert exported(source, form).body == (GOLDEN / "export" / f"{source}.{ENDINGS[form]}").read_bytes()


@pytest.mark.parametrize("source", SOURCES)
def test_an_original_is_what_was_read(source):
    path, data, _ = SOURCES[source]
    found = exported(source, "original")
    assert (found.body, found.file_name) == (data, path.rpartition("/")[2])


@pytest.mark.parametrize(
    ("source", "form", "file_name", "media_type"),
    [
        ("full", "native", "clean-up-experiment.yaml", "application/yaml"),
        ("prose", "native", "hand-over.md", "text/markdown; charset=utf-8"),
        ("full", "original", "full.yaml", "application/yaml"),
        ("prose", "original", "prose.md", "text/markdown; charset=utf-8"),
        ("runbook", "original", "fail-over.runbook.json", "application/json"),
        ("full", "skill", "SKILL.md", "text/markdown; charset=utf-8"),
        ("full", "mcp-tool", "clean-up-experiment.mcp-tool.json", "application/json"),
        ("full", "markdown", "clean-up-experiment.md", "text/markdown; charset=utf-8"),
    ],
)
def test_a_form_says_what_it_is_and_how_its_file_is_called(source, form, file_name, media_type):
    found = exported(source, form)
    assert (found.file_name, found.media_type) == (file_name, media_type)


def test_a_form_that_there_is_not_is_a_mistake():
    with pytest.raises(ValueError, match="pdf"):
        exported("full", "pdf")
