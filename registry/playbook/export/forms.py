"""One playbook in any of the forms that it can be had in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from registry.digest import Json
from registry.playbook.export.fields import Fields
from registry.playbook.export.markdown import render_markdown
from registry.playbook.export.mcp_tool import render_mcp_tool
from registry.playbook.export.native import render_native
from registry.playbook.export.skill import render_skill
from registry.playbook.load import Syntax, syntax_of
from registry.playbook.skill import SKILL_DOCUMENT, SKILL_FILE

JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"
MARKDOWN_TYPE: Final = "text/markdown; charset=utf-8"
_TYPES: Final = {Syntax.YAML: YAML_TYPE, Syntax.JSON: JSON_TYPE, Syntax.MARKDOWN: MARKDOWN_TYPE}


@dataclass(frozen=True, slots=True)
class Exported:
    """One playbook in one form: its bytes, what they are (a media type), and what a file of it is called.

    Only the name of an original comes from a repository; that of every other form is made of the playbook's name.
    """

    form: str
    body: bytes
    media_type: str
    file_name: str


def export(form: str, contract: Fields, head: Fields, original: Callable[[], bytes]) -> Exported:
    """The contract in one of `fields.FORMS`. Equal contracts and heads give equal bytes.

    `original` gives the bytes of the file that was read; it is asked for the original, and for a skill as a skill.
    Raises ValueError for another form, and what `original` raises.
    """
    name = str(contract["name"])
    if form == "native":
        body, is_markdown = render_native(contract, head)
        ending, media_type = ("md", MARKDOWN_TYPE) if is_markdown else ("yaml", YAML_TYPE)
        return Exported(form, body, media_type, f"{name}.{ending}")
    if form == "skill":
        is_skill = contract.get("document") == SKILL_DOCUMENT
        body = original() if is_skill else render_skill(contract, head).body
        return Exported(form, body, MARKDOWN_TYPE, SKILL_FILE)
    if form == "mcp-tool":
        return Exported(form, render_mcp_tool(contract, head), JSON_TYPE, f"{name}.mcp-tool.json")
    if form == "markdown":
        return Exported(form, render_markdown(contract, head), MARKDOWN_TYPE, f"{name}.md")
    if form == "original":
        return _original(head.get("source"), original())
    raise ValueError(f"{form} is no form of a playbook")


def _original(source: Json, body: bytes) -> Exported:
    path = str(source.get("path", "")) if isinstance(source, dict) else ""
    syntax = syntax_of(path)
    media_type = _TYPES[syntax] if syntax is not None else "application/octet-stream"
    return Exported("original", body, media_type, path.rpartition("/")[2])
