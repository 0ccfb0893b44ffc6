"""`/problems/<code>`: what the `type` of a problem leads to, a page for people."""

import re
from html import escape

from litestar import Response, get
from litestar.params import FromPath

from registry.api.answers import NOSNIFF, Answer
from registry.api.door import HttpRequest, parameters_of, respond
from registry.api.kinds import KINDS, Kind
from registry.errors import Unknown

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
    kind = KINDS.get(code)
    if kind is None:
        raise Unknown("route", "there is no problem of that code.")
    return respond(Answer(200, _HEADERS, problem_page(kind).encode()))


def problem_page(kind: Kind) -> str:
    """The HTML of a kind: meaning and remedy, nothing that loads."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(kind.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(kind.title)}</h1>\n"
        f"<p><code>{escape(kind.code)}</code>, HTTP status {kind.status}</p>\n"
        f"<h2>What it means</h2>\n<p>{_prose(kind.meaning)}</p>\n"
        f"<h2>What to do</h2>\n<p>{_prose(kind.remedy)}</p>\n</body>\n</html>\n"
    )


def _prose(text: str) -> str:
    """The table's words as HTML: what stands between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
