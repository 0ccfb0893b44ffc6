"""`/problems/<code>`: what the `type` of a problem leads to, a page for people.

A code of a file's problem, as `registry check` writes it, has a page there too.
"""

import re
from html import escape

from litestar import Response, get
from litestar.params import FromPath

from registry.api.answers import NOSNIFF, Answer
from registry.api.door import HttpRequest, parameters_of, respond
from registry.api.kinds import KINDS, Kind
from registry.errors import Unknown
from registry.playbook.problems import PROBLEM_CODES, Code

# The framework adds the charset to what is text.
_HEADERS = [
    (b"content-type", b"text/html"),
    NOSNIFF,
    (b"cache-control", b"public, max-age=3600"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
]
_CODE = re.compile(r"`([^`]+)`")
_STYLE = "body{font:17px/1.5 system-ui,sans-serif;max-width:42em;margin:3em auto;padding:0 1em}"


@get("/problems/{code:str}")
async def get_problem_page(request: HttpRequest, code: FromPath[str]) -> Response[bytes]:
    """The page of one code."""
    parameters_of(request)
    kind, of_files = KINDS.get(code), PROBLEM_CODES.get(code)
    if kind is None and of_files is None:
        raise Unknown("route", "there is no problem of that code.")
    return respond(Answer(200, _HEADERS, problem_page(code, kind, of_files).encode()))


def problem_page(code: str, kind: Kind | None, of_files: Code | None) -> str:
    """The HTML of a code: what it means in an answer, in a file or in both, and nothing that loads."""
    title = escape(kind.title if kind is not None else code)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n{_answer(kind)}{_file(code, of_files)}</body>\n</html>\n"
    )


def _answer(kind: Kind | None) -> str:
    if kind is None:
        return ""
    return (
        f"<p><code>{escape(kind.code)}</code>, HTTP status {kind.status}</p>\n"
        f"<h2>What it means</h2>\n<p>{_prose(kind.meaning)}</p>\n"
        f"<h2>What to do</h2>\n<p>{_prose(kind.remedy)}</p>\n"
    )


def _file(code: str, found: Code | None) -> str:
    if found is None:
        return ""
    said = f"{found.summary[:1].upper()}{found.summary[1:]}."
    return (
        f"<h2>Of a file</h2>\n<p><code>{escape(code)}</code>, {found.level.value}. {_prose(said)}</p>\n"
        "<p>docs/problems.md of the playbook registry shows an example and says what to do.</p>\n"
    )


def _prose(text: str) -> str:
    """The table's words as HTML: what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
