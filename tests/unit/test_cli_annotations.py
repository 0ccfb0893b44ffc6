import pytest

from registry.cli.github import annotation
from registry.playbook.model import Level, Problem


def problem(level: Level = Level.ERROR, message: str = "Mend it.", path: str = "playbooks/a.yaml") -> Problem:
    return Problem("unknown-key", level, path, 4, 2, message, "a")


@pytest.mark.parametrize(
    ("level", "word"), [(Level.ERROR, "error"), (Level.WARNING, "warning"), (Level.INFO, "notice")]
)
def test_each_level_has_its_annotation(level: Level, word: str):
    assert annotation(problem(level), "a.yaml") == f"::{word} file=a.yaml,line=4,col=2,title=unknown-key::Mend it."


def test_a_message_cannot_say_a_second_workflow_command():
    assert annotation(problem(message="50 %\r\n::stop"), "a").endswith("::50 %25%0D%0A::stop")


def test_a_path_cannot_end_its_own_property():
    assert "file=a%2Cline=9%3A%3A%0A%25.yaml," in annotation(problem(), "a,line=9::\n%.yaml")
