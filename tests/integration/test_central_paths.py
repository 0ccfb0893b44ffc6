"""The central repository's folders are a setting; a changed one counts from the next start on, without a new commit."""

import json
import time

import pytest
from gitserver import GitRepo
from world import opened, playbook

from registry.errors import SettingsInvalid
from registry.settings import Settings, load_settings

KIT = {"plugins/kit/skills/roll-back/SKILL.md": "---\nname: roll-back\ndescription: Roll back.\n---\nBody.\n"}
RULES = "policy: 1\nrequired:\n  - {name: a, reason: Audited.}\n"


def settings(folder, **options):
    return Settings(
        **{
            "data_dir": folder / "data",
            "central_url": f"file://{folder / 'git/acme/playbooks'}",
            "allow_file_remotes": True,
            "poll_interval_s": 3600,
            **options,
        }
    )


def entries(world):
    """The names that central serves to everybody, and whether each is required."""
    catalog = json.loads(world.services.catalogs.current(None).body)
    return {entry["name"]: entry["required"] for entry in catalog["entries"]}


def comes_to_serve(world, expected):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        world.services.in_force.refresh()
        if entries(world) == expected:
            return True
        time.sleep(0.02)
    return False


def test_central_is_read_where_the_setting_says(tmp_path):
    GitRepo(tmp_path / "git/acme/playbooks").commit({**KIT, "playbooks/a.yaml": playbook("a")})
    with opened(tmp_path, settings(tmp_path, central_paths=("plugins/*/skills/**/SKILL.md",))) as world:
        world.sync_central()
        assert entries(world) == {"roll-back": False}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"central_paths": ("plugins/*/skills/**/SKILL.md",)}, {"roll-back": False}),
        ({"policy_path": "rules/policy.yaml"}, {"a": True}),
    ],
)
def test_a_changed_setting_counts_from_the_next_start_on_without_a_new_commit(tmp_path, changed, expected):
    GitRepo(tmp_path / "git/acme/playbooks").commit(
        {**KIT, "playbooks/a.yaml": playbook("a"), "rules/policy.yaml": RULES}
    )
    with opened(tmp_path, settings(tmp_path)) as world:
        world.sync_central()
        assert entries(world) == {"a": False}
    with opened(tmp_path, settings(tmp_path, **changed)) as world:
        assert comes_to_serve(world, expected)


def test_a_comma_between_braces_belongs_to_its_glob(monkeypatch):
    monkeypatch.setenv("REGISTRY_CENTRAL_PATHS", "playbooks/**/*.{yaml,json}, skills/**/SKILL.md")
    assert load_settings().central_paths == ("playbooks/**/*.{yaml,json}", "skills/**/SKILL.md")


def test_globs_that_can_never_be_read_stop_the_start(monkeypatch):
    monkeypatch.setenv("REGISTRY_CENTRAL_PATHS", "../skills/**/SKILL.md")
    with pytest.raises(SettingsInvalid, match="REGISTRY_CENTRAL_PATHS"):
        load_settings()
