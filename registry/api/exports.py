"""The answer to `GET /v1/playbooks/{name}?as=…`: a file to be saved, conditional and compressed as catalogs are."""

import re
from urllib.parse import quote

from registry.api.answers import NO_CACHE, NO_SCRIPTS, NOSNIFF, Answer
from registry.api.conditional import ENCODABLE_BYTES_MIN, etag_header, matches, negotiate
from registry.api.door import Door, HttpRequest
from registry.service.exports import PlaybookExport

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_NO_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")


async def export_answer(request: HttpRequest, door: Door, found: PlaybookExport) -> Answer:
    """The file, or 304 where the caller has it. No browser takes it for a page of the registry."""
    exported = found.exported
    accepted = request.headers.get("accept-encoding", "").encode("latin-1")
    encoding = negotiate(accepted) if len(exported.body) >= ENCODABLE_BYTES_MIN else None
    headers = [
        (b"content-type", exported.media_type.encode()),
        NOSNIFF,
        NO_SCRIPTS,
        NO_CACHE,
        (b"content-disposition", disposition(exported.file_name)),
        (b"etag", etag_header(found.etag, encoding)),
        (b"vary", b"Accept-Encoding"),
        (b"playbook-version", quote(found.version, safe="+!#$&'()*,/:;=?@[]~ ").encode()),
        (b"playbook-digest", found.digest.encode()),
        (b"playbook-serves", b"true" if found.serves else b"false"),
        (b"catalog-digest", found.snapshot.encode()),
    ]
    if encoding is not None:
        headers.append((b"content-encoding", encoding.encode()))
    if_none_match = request.headers.get("if-none-match", "").encode("latin-1")
    if if_none_match and matches(if_none_match, found.etag):
        return Answer(304, headers)
    if encoding is None:
        return Answer(200, headers, exported.body)
    body = await door.call(door.services.catalogs.encoded, found.etag, exported.body, encoding)
    return Answer(200, headers, body)


def disposition(file_name: str) -> bytes:
    """The `Content-Disposition` of a file to be saved under that name (RFC 6266), which may come from a repository."""
    if _PLAIN_NAME.fullmatch(file_name):
        return f'attachment; filename="{file_name}"'.encode()
    plain = _NO_PLAIN.sub("_", file_name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file_name, safe='')}".encode()
