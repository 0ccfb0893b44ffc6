"""A symlink is the file that it resolves to: one playbook, one remark, in the first root that leads to it."""

from registry.cli.working_copy import WorkingCopy
from registry.git.walk import TreeFile
from registry.playbook.roots import Roots
from registry.ports import Role
from registry.sync.readings import ReadingCache
from registry.sync.source import SourcePlan, fingerprint_of, read_source

SKILL = "---\nname: {name}\ndescription: {what}\n---\nBody.\n"


def revision(root):
    source = WorkingCopy(root)
    plan = SourcePlan("github.com/acme/app", Role.SERVICE, Roots(), None)
    return read_source(source, source.poll(), plan, None, ReadingCache()).revision


def skill(root, folder, name="roll-back", what="Roll back."):
    place = root / folder / name / "SKILL.md"
    place.parent.mkdir(parents=True)
    place.write_text(SKILL.format(name=name, what=what))


def link(root, path, target):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).symlink_to(target)


def paths(found):
    return [copy.path for copy in found.copies]


def test_a_linked_folder_of_skills_holds_no_twins(tmp_path):
    skill(tmp_path, ".agents/skills")
    link(tmp_path, ".claude/skills", "../.agents/skills")
    found = revision(tmp_path)
    assert (paths(found), found.problems) == ([".agents/skills/roll-back/SKILL.md"], ())


def test_a_file_stands_under_its_own_path_also_where_a_link_in_an_earlier_root_leads_to_it(tmp_path):
    skill(tmp_path, "skills")
    link(tmp_path, ".agents/skills", "../skills")
    assert paths(revision(tmp_path)) == ["skills/roll-back/SKILL.md"]


def test_a_link_in_an_earlier_root_lifts_its_file_above_a_rival_between_the_two(tmp_path):
    skill(tmp_path, "skills")
    skill(tmp_path, ".claude/skills", what="Roll back in another way.")
    assert paths(revision(tmp_path)) == [".claude/skills/roll-back/SKILL.md"]
    link(tmp_path, ".agents/skills", "../skills")
    assert paths(revision(tmp_path)) == ["skills/roll-back/SKILL.md"]


def test_what_is_wrong_with_a_file_is_said_once_however_many_links_lead_to_it(tmp_path):
    skill(tmp_path, ".agents/skills", what="one: two")
    link(tmp_path, ".claude/skills", "../.agents/skills")
    link(tmp_path, ".cursor/skills/roll-back/SKILL.md", "../../../.agents/skills/roll-back/SKILL.md")
    found = [(each.code, each.path) for each in revision(tmp_path).problems]
    assert found == [("yaml-syntax", ".agents/skills/roll-back/SKILL.md")]


def test_a_file_outside_every_root_stands_where_the_first_root_leads_to_it(tmp_path):
    skill(tmp_path, "elsewhere")
    link(tmp_path, ".claude/skills", "../elsewhere")
    link(tmp_path, ".agents/skills", "../elsewhere")
    found = revision(tmp_path)
    assert (paths(found), found.problems) == ([".agents/skills/roll-back/SKILL.md"], ())


def test_a_copy_in_the_place_of_a_link_is_read_again_though_its_bytes_are_the_same():
    path = ".claude/skills/roll-back/SKILL.md"
    linked = TreeFile(path, "1" * 40, target=".agents/skills/roll-back/SKILL.md")
    prints = {fingerprint_of([file], lambda _path: 0, None) for file in (linked, TreeFile(path, "1" * 40))}
    assert len(prints) == 2
