"""One look at a source, over what a real registry has stored: what it needs of git, and what happens without."""

from dataclasses import replace

import pytest
from world import World, playbook, running

from registry.git.child import ChildSettings
from registry.git.remote import RemotePolicy
from registry.git.sources import GitSources
from registry.ports import ApiRules, Remarks
from registry.sync.examination import Facts, Outcome, Seen, Task, examine
from registry.sync.memory import Memory, read_memory

PAY = "github.com/acme/pay"


class Looker:
    """Looks at the sources of a world with mirrors of its own, and remembers as the store would."""

    def __init__(self, world: World, folder) -> None:
        self.world = world
        self.git = GitSources(folder, RemotePolicy(allow_file_remotes=True), ChildSettings())
        self.known: dict[str, Remarks] = {}
        self.side = None

    def look(self, repository: str, commit: str | None = None, wanted=frozenset()) -> Outcome:
        """What a look at a source comes to, at its newest head or at `commit`."""
        self.world.services.refresh()
        view = self.world.services.in_force.view
        status = view.statuses[repository]
        seen = Seen(status.ref, commit or status.head)
        facts = Facts(view.registrations[repository], seen, view.pointers[repository].revision)
        known = self.known.get(repository) or Remarks(repository, "")
        outcome = examine(Task(facts, self.side, ApiRules(), wanted, known), self.git, self.world.store)
        self.known[repository] = outcome.remarks
        self.side = outcome.side or self.side
        return outcome

    def central(self, wanted=frozenset()) -> Outcome:
        """The same of central."""
        return self.look(self.world.services.in_force.view.central, wanted=wanted)


def codes(outcome: Outcome) -> list[str]:
    return [item.code for item in outcome.remarks.problems]


@pytest.fixture
def looker(tmp_path):
    central = {"playbooks/rotate-key.yaml": playbook("rotate-key")}
    with running(tmp_path, central) as world:
        world.service("pay", {**central, "CODEOWNERS": "* @acme/somebody\n"})
        yield Looker(world, tmp_path / "mirrors")


def test_a_look_reads_owners_from_a_slim_mirror(looker):
    looker.central()
    assert codes(looker.look(PAY)) == ["owner-not-in-codeowners"]


def test_a_history_that_central_was_not_asked_for_is_missing_until_it_was(looker):
    looker.central()
    first = looker.look(PAY)
    assert (first.missing, first.remarks.made_of) == ({"rotate-key"}, "")
    looker.central(first.missing)
    second = looker.look(PAY)
    assert second.missing == frozenset()
    assert second.remarks.made_of != ""


def test_a_failure_of_git_leaves_what_was_known_and_has_the_source_looked_at_again(looker):
    looker.central(frozenset({"rotate-key"}))
    looker.look(PAY)
    failed = looker.look(PAY, commit="f" * 40)
    assert codes(failed) == ["owner-not-in-codeowners"]
    assert failed.remarks.made_of == ""
    assert codes(looker.look(PAY)) == ["owner-not-in-codeowners"]


def test_without_git_and_without_anything_known_there_are_the_remarks_that_need_none(looker):
    looker.central(frozenset({"rotate-key"}))
    failed = looker.look(PAY, commit="f" * 40)
    assert (codes(failed), failed.remarks.made_of) == ([], "")


def test_a_head_that_moved_alone_costs_no_history(looker):
    looker.central(frozenset({"rotate-key"}))
    before = looker.look(PAY)
    looker.git = None  # whoever asked git now would fail
    assert looker.look(PAY).remarks == before.remarks


def test_the_look_at_central_is_its_own_and_gives_its_side(looker):
    outcome = looker.central(frozenset({"rotate-key"}))
    assert outcome.side.neighbours.named("rotate-key").path == "playbooks/rotate-key.yaml"
    assert [item.version for item in outcome.side.history("rotate-key")] == ["1.0.0"]


def test_a_file_of_code_owners_that_is_too_large_is_as_none(looker, tmp_path):
    repo = looker.world.service("big", {"playbooks/a.yaml": playbook("a"), "CODEOWNERS": "* @acme/x\n" * 400_000})
    looker.central()
    assert codes(looker.look("github.com/acme/big")) == []
    repo.commit({"CODEOWNERS": "* @acme/x\n"})
    looker.world.sync("big")
    assert codes(looker.look("github.com/acme/big")) == ["owner-not-in-codeowners"]


def test_everything_that_is_remembered_is_read_back(looker):
    looker.central(frozenset({"rotate-key"}))
    remembered = looker.look(PAY).remarks.memory
    assert read_memory(remembered).to_json() == remembered
    assert read_memory(remembered).lineages["rotate-key"].wholes


@pytest.mark.parametrize("odd", [None, 7, [], {}, {"head": 1}, {"revision": None, "head": None, "contents": 3}])
def test_a_memory_of_another_kind_is_as_none(odd):
    assert read_memory(odd) == Memory()


def test_remarks_are_made_of_the_head_the_revision_and_the_rules(looker):
    looker.central(frozenset({"rotate-key"}))
    first = looker.look(PAY).remarks.made_of
    assert looker.look(PAY).remarks.made_of == first
    looker.side = replace(looker.side, facet="another")
    assert looker.look(PAY).remarks.made_of != first


def test_tools_that_are_too_many_to_remember_are_read_at_every_look(looker):
    def many(name: str) -> str:
        schema = f"{{type: object, description: {'x' * 9_000}}}"
        tools = "\n".join(f"  - {{name: {name}{number}, risk: money, input_schema: {schema}}}" for number in range(90))
        return playbook(name).replace("steps:", f"tools:\n{tools}\nsteps:").replace("shell.run", f"{name}1")

    other = playbook("other").replace("steps:", "tools:\n  - {name: one1, risk: internal}\nsteps:")
    texts = {"one": many("one"), "two": many("two"), "other": other.replace("shell.run", "one1")}
    looker.world.service("tools", {f"playbooks/{name}.yaml": text for name, text in texts.items()})
    looker.central()
    for _ in range(2):
        outcome = looker.look("github.com/acme/tools")
        assert codes(outcome) == ["tool-drift", "tool-drift"]
        assert outcome.remarks.memory["tools"] is None
