"""Scenarios of real companies: a central collection and the repositories that keep skills beside it, as they are."""

from collections.abc import Iterator

import pytest
from realcompany import Company, company_of, differences, workshop_in

pytestmark = [pytest.mark.corpus, pytest.mark.xdist_group("real-scenarios")]

SCENARIOS = ("A_org", "B_merged_central", "C_scale", "E_all_collections_as_central")
# Three collections have a brand-guidelines. The copy's twin is the second of them, and the first one counts.
NOT_OVER_ITS_TWIN = {("sickn33/antigravity-awesome-skills", "brand-guidelines")}


def _shown(param: tuple[str, bool]) -> str:
    name, links = param
    return f"{name[0]}-{'links' if links else 'plain'}"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    return workshop_in(tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="module", params=[(name, links) for name in SCENARIOS for links in (False, True)], ids=_shown)
def company(request, workshop, tmp_path_factory) -> Iterator[Company]:
    name, links = request.param
    with company_of(name, workshop, tmp_path_factory.mktemp("company"), links=links) as made:
        yield made


def test_every_catalog_is_what_the_merge_says_of_the_files(company):
    assert differences(company) == {}


def test_no_catalog_is_empty_and_no_source_is_in_trouble(company):
    least = company.shared.serving()
    assert least > 0
    assert {service for service in company.repositories if len(company.catalog(service)["entries"]) < least} == set()
    views = company.services.repositories.list(limit=200)["items"]
    assert [(view["id"], view["sync"]) for view in views if view["sync"]["state"] != "ok"] == []
    assert len(views) == 1 + len(company.repositories)


def test_each_repository_has_as_many_playbooks_as_its_files_make(company):
    counted = {service: view["playbooks"] for service, view in company.views.items()}
    assert counted == {service: company.sides[service].serving() for service in company.repositories}


def test_each_file_that_does_not_load_is_an_error_and_no_other_is(company):
    for service in (None, *company.repositories):
        rows = company.problems(service)
        side = company.sides[service] if service else company.shared
        broken = {row["path"] for row in rows if row["level"] == "error" and row["code"] != "duplicate-name"}
        assert (service, broken) == (service, side.broken)
        assert all(row["line"] >= 1 and row["column"] >= 1 for row in rows)


def test_what_is_said_of_twins_names_and_descriptions_is_what_the_files_show(company):
    for service in (None, *company.repositories):
        side = company.sides[service] if service else company.shared
        remarks = side.remarks()
        said = {code: {row["path"] for row in company.problems(service) if row["code"] == code} for code in remarks}
        assert (service, said) == (service, remarks)


def test_a_list_counts_as_many_problems_as_are_listed(company):
    counted = {service: view["problems"] for service, view in company.views.items()}
    assert counted == {service: len(company.problems(service)) for service in company.repositories}


def test_the_collisions_that_were_counted_are_won_at_home(company):
    pairs = {(pair["service"], pair["name"]): set(pair["local"]) for pair in company.plan["pairs"]}
    won = {
        (service, row["name"]): row["source"]["path"]
        for service in company.repositories
        for row in company.catalog(service)["entries"]
        if row["decision"]["outcome"] == "local_wins"
    }
    assert won.keys() == pairs.keys()
    assert [pair for pair, path in won.items() if path not in pairs[pair]] == []


def test_a_copy_says_over_which_central_one_it_serves_and_whether_it_is_the_same(company):
    identical = {
        (service, entry["name"])
        for service in company.repositories
        for entry in company.catalog(service)["entries"]
        for over in entry["decision"]["over"]
        if over["source"]["blob"] == entry["source"]["blob"]
    }
    counted = {(pair["service"], pair["name"]) for pair in company.plan["pairs"] if pair["identical"]}
    assert identical == counted - NOT_OVER_ITS_TWIN


def test_central_has_as_many_names_as_were_counted(company):
    # A name that is none ("ui/linux") counts for nothing.
    nameless = {row["path"] for row in company.problems(None) if row["code"] == "name-invalid"}
    found, counted = len(company.shared.copies), company.plan["central_names"] - len(nameless)
    # Links were not counted, and some of them make a skill of what is none by its own name.
    assert found == counted or (company.links and found > counted)


def test_a_real_playbook_is_found_in_its_own_repository_and_in_no_other(company):
    owners = {
        service: next(
            (copy.skill for name, copy in side.copies.items() if copy.serves and _is_alone(company, service, name)),
            None,
        )
        for service, side in company.sides.items()
    }
    for owner, skill in owners.items():
        if skill is not None:
            found = {
                service
                for service in company.repositories
                if skill.name in company.found(_begin(skill.description), service)
            }
            assert (skill.path, found) == (skill.path, {owner})
    assert any(owners.values())


def _begin(text: str) -> str:
    return " ".join(text.split()[:12])


def _is_alone(company: Company, owner: str, name: str) -> bool:
    others = [side for service, side in company.sides.items() if service != owner]
    return all(name not in side.copies for side in (company.shared, *others))
