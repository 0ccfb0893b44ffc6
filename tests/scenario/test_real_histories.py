"""Real histories, pushed commit by commit and read after each: what breaks is held, what is mended heals, what is deleted ends."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path

import pytest
from corpus import ARCHIVE, unpack
from realhistories import GLOBS, History, State, is_held_back, state_after, timeline
from serving import eventually
from skillrules import verdicts
from world import ADMIN, opened

from registry.service.repositories import RegistrationRequest
from registry.settings import Settings

pytestmark = [pytest.mark.corpus, pytest.mark.xdist_group("real-histories")]

CENTRAL = "getsentry/skills"
# A long one of pages that are no playbooks: several commits a push, as people do.
COMMITS_A_PUSH = {"openshift/runbooks": 20}
# What waits for somebody to apply it, with how many of how many playbooks it takes away.
MASS_CHANGES = {
    ("dandye/ai-runbooks", "3c731a18"): (12, 22),
    ("obra/superpowers", "09e26183"): (29, 29),
}
# Where TIMELINE.json and this registry see a step differently, with the reason.
DIFFERENCES = {
    ("obra/superpowers", "694073b8", "skills/problem-solving/when-stuck/SKILL.md"): (
        "merge.md, Names: `When Stuck - Problem-Solving Dispatch` folds to three hyphens in a row, which is no name"
    ),
}
WAIT_S = 60.0


@dataclass
class Step:
    """What the registry showed after one commit of one repository was read."""

    commit: str
    state: str
    before: State
    expected: State
    catalog: dict
    problems: list[dict]

    @property
    def entries(self) -> dict[str, dict]:
        """The catalog's entries by name."""
        return {entry["name"]: entry for entry in self.catalog["entries"]}

    @property
    def errors(self) -> set[str]:
        """The paths of the files that do not load."""
        return {row["path"] for row in self.problems if row["level"] == "error"}


class Walk:
    """All histories in one registry, side by side: each round pushes the next commit of every one and has it read."""

    def __init__(self, folder: Path, resources: ExitStack) -> None:
        bundles = unpack(folder) / "bundles"
        self.timeline = timeline(bundles)
        self.histories = {name: History(bundles, name, folder / "git" / name) for name in GLOBS}
        for history in self.histories.values():
            resources.callback(history.blobs.close)
        settings = Settings(
            data_dir=folder / "data",
            central_url=self.histories[CENTRAL].repo.url,
            central_paths=GLOBS[CENTRAL],
            allow_file_remotes=True,
            poll_interval_s=3600,
        )
        self.states = {name: State() for name in GLOBS}
        self.numbers = dict.fromkeys(GLOBS, 0)
        self.steps: dict[str, list[Step]] = defaultdict(list)
        self.suspended: dict[tuple[str, str], str] = {}
        self.wrong: list[object] = []
        for history in self.histories.values():
            history.push(0)
        self.world = resources.enter_context(opened(folder / "world", settings))
        self.services = self.world.services
        for name in GLOBS.keys() - {CENTRAL}:
            request = RegistrationRequest(self.histories[name].repo.url, name.partition("/")[0], paths=GLOBS[name])
            self.services.repositories.register(ADMIN, self.id_of(name), request, 0)
        self._see(dict.fromkeys(GLOBS, 0))

    def id_of(self, name: str) -> str:
        """The id of a history in the registry."""
        return self.services.in_force.view.central if name == CENTRAL else f"github.com/{name}"

    def run(self) -> None:
        """Walk all of them to their ends."""
        rounds = {name: pushes(history) for name, history in self.histories.items()}
        for numbers in zip_longest(*rounds.values()):
            self.push({name: number for name, number in zip(rounds, numbers, strict=True) if number is not None})

    def push(self, numbers: dict[str, int]) -> None:
        """Move these branches, forwards or backwards, have them read, and look."""
        for name, number in numbers.items():
            self.histories[name].push(number)
            self.world.store.request_sync(self.id_of(name))
        # One more wish wakes the worker for all of them.
        self.services.repositories.sync(ADMIN, self.id_of(next(iter(numbers))), 0)
        self._see(numbers)

    def _see(self, numbers: dict[str, int]) -> None:
        eventually(lambda: self._are_read(numbers), WAIT_S)
        self.numbers.update(numbers)
        for name in numbers:
            before, after = self.states[name], state_after(self.histories[name], self.numbers[name], self.states[name])
            if is_held_back(before, after):
                self._apply(name)
            self.states[name] = after
        for name in numbers:
            self._look(name)

    def _are_read(self, numbers: dict[str, int]) -> bool:
        self.services.refresh()
        statuses = self.services.in_force.view.statuses
        return all(
            (status := statuses.get(self.id_of(name))) is not None
            and status.seen == self.histories[name].commits[number]
            for name, number in numbers.items()
        )

    def _apply(self, name: str) -> None:
        """A mass change waits, changes nothing until then, and is applied by hand."""
        identity, commit = self.id_of(name), self.histories[name].commits[self.numbers[name]]
        view = self.services.repositories.get(identity)
        stays = {
            entry["name"]
            for entry in self._catalog(name)["entries"]
            if name in {CENTRAL, None} or entry["source"]["kind"] == "local"
        }
        if (view["sync"]["state"], view["sync"]["suspended"]) != ("suspended", commit) or stays != self.states[
            name
        ].serving:
            self.wrong.append((name, commit, view["sync"], stays ^ self.states[name].serving))
        self.suspended[name, commit[:8]] = view["sync"]["message"]
        assert self.services.repositories.apply(ADMIN, identity, commit, WAIT_S).done

    def _catalog(self, name: str) -> dict:
        return json.loads(self.services.catalogs.current(None if name == CENTRAL else self.id_of(name)).body)

    def _look(self, name: str) -> None:
        history, number, state = self.histories[name], self.numbers[name], self.states[name]
        catalog, identity = self._catalog(name), self.id_of(name)
        step = Step(
            history.commits[number],
            self.services.repositories.get(identity)["sync"]["state"],
            self.steps[name][-1].expected if self.steps[name] else State(),
            state,
            catalog,
            self.services.problems.of(identity)["problems"],
        )
        self.steps[name].append(step)
        self.wrong += [
            (name, step.commit, what, *pair) for what, pair in self._compared(name, step).items() if pair[0] != pair[1]
        ]

    def _compared(self, name: str, step: Step) -> dict[str, tuple[object, object]]:
        """What was seen beside what the rules say."""
        history, number, state = self.histories[name], self.numbers[name], self.states[name]
        shared = self.states[CENTRAL].side(self.numbers[CENTRAL], self.histories[CENTRAL])
        should = verdicts(shared, None if name == CENTRAL else state.side(number, history))
        held = {**self.states[CENTRAL].held, **state.held}
        return {
            "state": (step.state, "ok"),
            "serving": (
                {
                    key: (row["decision"]["outcome"], row["source"]["path"], row["source"]["blob"])
                    for key, row in step.entries.items()
                },
                {key: (each.outcome, each.skill.path, each.skill.digest) for key, each in should.items() if each.skill},
            ),
            "unavailable": (
                {row["name"]: row["outcome"] for row in step.catalog["unavailable"]},
                {key: each.outcome for key, each in should.items() if each.skill is None},
            ),
            "held": (
                {key: row["held"]["commit"] for key, row in step.entries.items() if row.get("held")},
                {key: held[key] for key, each in should.items() if each.skill and key in held},
            ),
            "errors": (step.errors, history.sides[number].broken),
            "stood in for": (
                {row["path"] for row in step.problems if row["held"]},
                {state.paths[key] for key in state.held},
            ),
        }


def pushes(history: History) -> list[int]:
    """The numbers of the commits that are pushed after the first one; the last one is."""
    size, last = COMMITS_A_PUSH.get(history.name, 1), len(history.commits) - 1
    return sorted({*range(size, last, size), last})


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Iterator[Walk]:
    if not ARCHIVE.is_file():
        pytest.skip(f"the corpus is not on this machine: {ARCHIVE} is missing")
    with ExitStack() as resources:
        walked = Walk(tmp_path_factory.mktemp("histories"), resources)
        walked.run()
        yield walked


def step_at(walk: Walk, name: str, commit: str) -> Step:
    """What was seen after a commit."""
    return next(step for step in walk.steps[name] if step.commit == commit)


def own(step: Step, path: str) -> dict | None:
    """The entry that a file of that path gives, be it of this commit or held."""
    return next((entry for entry in step.entries.values() if entry["source"]["path"] == path), None)


def transitions(walk: Walk, *, before: str | None = None, after: str | None = None) -> list[tuple[str, dict]]:
    """The changes of validity that the timeline lists; `ok`, `broken` and `absent` say from what and to what."""
    found = [(name, row) for name, said in walk.timeline.items() for row in said["validity_transitions"]]
    return [
        (name, row)
        for name, row in found
        if before in {None, _kind(row["before"])} and after in {None, _kind(row["after"])}
    ]


def _kind(said: str) -> str:
    return {"ok": "ok", "(absent)": "absent"}.get(said, "broken")


def digest_at(walk: Walk, name: str, blob_id: str) -> str:
    """The digest of a blob's bytes."""
    return "sha256:" + hashlib.sha256(walk.histories[name].blobs[blob_id]).hexdigest()


def test_every_step_of_every_history_is_as_the_rules_say(walk):
    assert walk.wrong == []
    seen = {name: [step.commit for step in steps] for name, steps in walk.steps.items()}
    assert seen == {
        name: [history.commits[number] for number in (0, *pushes(history))] for name, history in walk.histories.items()
    }


def test_a_file_that_breaks_is_held_at_the_commit_before(walk):
    broke = transitions(walk, before="ok", after="broken")
    assert len(broke) == 2
    for name, row in broke:
        step, commits = step_at(walk, name, row["commit"]), walk.histories[name].commits
        entry = own(step, row["path"])
        assert row["path"] in step.errors
        assert entry["held"]["commit"] == commits[commits.index(row["commit"]) - 1]
        assert entry["held"]["problem"]["path"] == row["path"]
        assert entry["source"]["blob"] == digest_at(walk, name, row["blob_before"])


def test_a_registry_that_sees_a_file_broken_at_first_finds_what_stood_there_before(walk):
    for name, row in transitions(walk, before="ok", after="broken"):
        history, late = walk.histories[name], f"github.com/late/{name.partition('/')[2]}"
        history.repo.git("update-ref", "refs/heads/late", row["commit"])
        request = RegistrationRequest(history.repo.url, "late", ref="late", paths=GLOBS[name])
        assert walk.services.repositories.register(ADMIN, late, request, WAIT_S).done
        entries = json.loads(walk.services.catalogs.current(late).body)["entries"]
        [entry] = [each for each in entries if each["source"]["path"] == row["path"]]
        before = history.commits[history.commits.index(row["commit"]) - 1]
        assert (entry["held"]["commit"], entry["source"]["commit"]) == (before, before)
        assert entry["source"]["blob"] == digest_at(walk, name, row["blob_before"])


def test_a_file_that_breaks_in_another_way_stays_held_at_its_last_good_commit(walk):
    [(name, row)] = [(name, row) for name, row in transitions(walk, before="broken", after="broken")]
    [(_, broke)] = [pair for pair in transitions(walk, before="ok", after="broken") if pair[1]["path"] == row["path"]]
    before, after = (own(step_at(walk, name, each["commit"]), row["path"]) for each in (broke, row))
    assert (before["held"]["commit"], before["digest"]) == (after["held"]["commit"], after["digest"])
    assert before["held"]["problem"]["code"] != after["held"]["problem"]["code"]


def test_a_file_that_is_mended_heals(walk):
    healed = transitions(walk, before="broken", after="ok")
    assert len(healed) == 8
    for name, row in healed:
        step = step_at(walk, name, row["commit"])
        entry = own(step, row["path"])
        assert row["path"] not in step.errors
        assert entry["held"] is None
        assert entry["source"]["blob"] == digest_at(walk, name, row["blob_after"])


def test_a_file_that_never_loaded_is_an_error_and_serves_nobody(walk):
    new = transitions(walk, before="absent", after="broken")
    assert len(new) == 11
    for name, row in new:
        step = step_at(walk, name, row["commit"])
        assert row["path"] in step.errors
        assert own(step, row["path"]) is None


def test_the_timeline_says_all_that_breaks_or_heals(walk):
    listed = _places(transitions(walk)) - _places(transitions(walk, before="broken", after="broken"))
    seen = {
        (name, after.commit[:8], path)
        for name, steps in walk.steps.items()
        for before, after in pairwise(steps)
        for path in before.errors ^ after.errors
        # A broken file that is deleted or moved away neither breaks nor heals.
        if path in after.errors or walk.histories[name].has(path, after.commit)
    }
    assert seen == listed | DIFFERENCES.keys()


def _places(rows: list[tuple[str, dict]]) -> set[tuple[str, str, str]]:
    return {(name, row["commit"][:8], row["path"]) for name, row in rows}


def test_a_deletion_takes_effect_at_once(walk):
    gone = 0
    for name, steps in walk.steps.items():
        for before, after in pairwise(steps):
            names = before.expected.serving - after.expected.serving
            kept = {key for key in names & after.entries.keys() if _is_from(walk, name, after.entries[key])}
            assert (name, after.commit, kept) == (name, after.commit, set())
            gone += len(names)
    assert gone > 80


def test_a_rename_goes_on_serving_under_its_new_path(walk):
    moved = 0
    for steps in walk.steps.values():
        for before, after in pairwise(steps):
            for key in before.expected.serving & after.expected.serving:
                was, now = before.expected.paths[key], after.expected.paths[key]
                if was != now:
                    assert after.entries[key]["source"]["path"] == now
                    moved += 1
    assert moved > 50


def test_a_folder_that_becomes_a_link_changes_no_entry(walk):
    linked = 0
    for name, said in walk.timeline.items():
        for row in said["type_changes"]:
            commits = walk.histories[name].commits
            after = step_at(walk, name, row["commit"])
            before = step_at(walk, name, commits[commits.index(row["commit"]) - 1])
            assert before.expected.serving <= after.expected.serving
            assert not any(problem["code"] in {"twin-identical", "duplicate-root"} for problem in after.problems)
            linked += 1
    assert linked == 7


def test_a_change_that_takes_most_away_waits_and_everything_else_does_not(walk):
    assert walk.suspended.keys() == MASS_CHANGES.keys()
    for change, (removed, total) in MASS_CHANGES.items():
        counted = f"all {total}" if removed == total else f"{removed} of {total}"
        assert f"would take away {counted} playbooks" in walk.suspended[change]


def test_no_catalog_is_ever_empty_where_files_load(walk):
    for steps in walk.steps.values():
        assert [step.commit for step in steps if step.expected.serving and not step.entries] == []


def test_pages_that_are_no_playbooks_are_no_problems_either(walk):
    for name in ("openshift/runbooks", "prometheus-operator/runbooks"):
        assert {row["code"] for step in walk.steps[name] for row in step.problems} <= {"unrecognised"}


def _is_from(walk: Walk, name: str, entry: dict) -> bool:
    return entry["source"]["repository"] == walk.id_of(name)


# Last, because it moves the branches away from their heads.


def test_a_branch_that_is_moved_back_is_read_as_it_is_there(walk):
    walk.wrong.clear()
    for name, back in (("google-gemini/gemini-cli", 6), ("getsentry/sentry-javascript", 20), (CENTRAL, 60)):
        last = len(walk.histories[name].commits) - 1
        walk.push({name: last - back})
        walk.push({name: last})
    assert walk.wrong == []
