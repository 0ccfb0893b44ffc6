"""docs/settings.md has one row per setting, with the default and the description that the code has."""

import re

from shellblocks import page

from registry.settings import _CLIENT_VARIABLES, PREFIX, Settings

PAGE = page("docs/settings.md")


def default_of(value: object) -> str:
    match value:
        case None | () | "":
            return "-"
        case bool():
            return f"`{str(value).lower()}`"
        case _:
            return f"`{value}`"


def row(name: str) -> str:
    field = Settings.model_fields[name]
    return f"| `{PREFIX}{name.upper()}` | {default_of(field.default)} | {field.description} |"


def test_the_table_is_what_the_settings_say():
    found = [line for line in PAGE.splitlines() if line.startswith(f"| `{PREFIX}")]
    assert found == [row(name) for name in Settings.model_fields]


def test_every_variable_that_the_page_names_exists():
    known = {PREFIX + name.upper() for name in Settings.model_fields} | _CLIENT_VARIABLES
    assert set(re.findall(r"`(REGISTRY_[A-Z_]+[A-Z])`", PAGE)) == known
