"""What a page of the documentation tells its reader to type: the commands of its ```console blocks."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    """The text of a page, by its path in the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """What stands under a second-level heading, up to the next one."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"there is no section {heading!r}"
    return found[1]


def commands(text: str) -> list[str]:
    """Every line that begins with `$ `, in order; a line that ends with a backslash goes on in the next."""
    lines = "".join(_BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
