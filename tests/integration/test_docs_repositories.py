"""docs/repositories.md: every spelling in it normalises to the id beside it, and no known double spelling lacks."""

import inspect
import re

import pytest
from shellblocks import page, section

from registry import names
from registry.api.addresses import SUB_RESOURCES
from registry.names import repository_id

PAGE = page("docs/repositories.md")
ROWS = re.findall(r"^\|(?:[^|`]*\|)? `([^`|]+)` \| `([^`|]+)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("spelling", "identity"), ROWS)
def test_a_spelling_of_the_page_has_the_id_beside_it(spelling: str, identity: str):
    assert str(repository_id(spelling)) == identity


def test_every_host_and_mark_of_the_codes_table_is_in_the_pages_table():
    source = inspect.getsource(names._known_double_spelling)
    table = section(PAGE, "Known double spellings")
    known = set(re.findall(r'"((?:\w+\.)*(?:github|azure|gitlab|bitbucket)\.\w+|v3|_git|scm|7999)"', source))
    assert len(known) >= 11
    assert [word for word in sorted(known) if word not in table] == []


def test_a_local_remote_has_the_id_that_the_page_shows():
    found = re.search(r"`(file://[^`]+)` is `([^`]+)`", PAGE)
    assert found is not None
    assert str(repository_id(found[1])) == found[2]


def test_every_name_that_must_be_escaped_is_listed():
    listed = re.search(r"one of ((?:`\w+`(?:,\s+|\s+and )?)+)", PAGE)
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) == SUB_RESOURCES
