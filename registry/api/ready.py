"""Answers that can be given again as they are: the hottest calls without reading their address twice.

What an answer says of itself (digest, commit, age) stays the same for up to a second and until something new is in
force. Meanwhile the same question costs a look-up, and the two messages of its answer are there already. Whatever is
not here yet, or asks for more (a token, two headers of one name), goes the long way, which prepares it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from registry.api.answers import Answer, Message, Scope, start_message
from registry.api.conditional import Encoding
from registry.service.catalogs import Catalogs, Validity
from registry.service.inforce import View

ANSWERS_MAX = 4_096
FORMS_MAX = 16
"""Kept forms of one answer: callers' headers differ, and anybody can make up more."""
FORMS_IN_ALL_MAX = 2 * ANSWERS_MAX
HEADER_BYTES_MAX = 512
NO_BODY: Message = {"type": "http.response.body", "body": b"", "more_body": False}


@dataclass(slots=True)
class _Ready:
    """One question's answer in the forms that were asked for, each by the values of the two headers that choose it."""

    validity: Validity
    etag: str
    forms: dict[tuple[bytes | None, bytes | None], tuple[Message, Encoding | None]] = field(default_factory=dict)


class ReadyAnswers:
    """The prepared answers by raw path and query. Used on the event loop alone."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._ready: dict[tuple[bytes, bytes], _Ready] = {}
        self._forms = 0
        self._view: View | None = None

    def find(self, scope: Scope) -> tuple[Message, Message] | None:
        """The two messages that answer a GET, or None where it must go the long way. Touches memory only."""
        ready = self._ready.get((scope["raw_path"], scope["query_string"]))
        if ready is None or not self._catalogs.holds(ready.validity):
            return None
        chosen_by = _chosen_by(scope["headers"])
        form = ready.forms.get(chosen_by) if chosen_by is not None else None
        if form is None:
            return None
        start, encoding = form
        if start["status"] == 304:
            return start, NO_BODY
        # Not kept here: bodies are bounded in bytes, and that in one place.
        body = self._catalogs.peek_body(ready.etag, encoding)
        return None if body is None else (start, {"type": "http.response.body", "body": body, "more_body": False})

    def keep(
        self,
        question: tuple[bytes, bytes],
        chosen_by: tuple[bytes | None, bytes | None],
        answer: Answer,
        *,
        etag: str,
        encoding: Encoding | None,
        validity: Validity,
    ) -> None:
        """Keep an answer to the GET of (raw path, query), chosen by (Accept-Encoding, If-None-Match)."""
        if sum(len(text) for text in (*question, *filter(None, chosen_by))) > HEADER_BYTES_MAX:
            return
        is_full = len(self._ready) >= ANSWERS_MAX or self._forms >= FORMS_IN_ALL_MAX
        if validity.view is not self._view or is_full:
            # An answer of an earlier view is never given again, and would keep that whole view in memory. When full:
            # it refills within a second, and bookkeeping would cost every request.
            self._ready.clear()
            self._forms, self._view = 0, validity.view
        ready = self._ready.get(question)
        if ready is None or ready.etag != etag or ready.validity.until != validity.until:
            self._forms -= len(ready.forms) if ready is not None else 0
            ready = self._ready[question] = _Ready(validity, etag)
        if len(ready.forms) < FORMS_MAX and chosen_by not in ready.forms:
            ready.forms[chosen_by] = (start_message(answer), encoding)
            self._forms += 1


def _chosen_by(headers: Iterable[tuple[bytes, bytes]]) -> tuple[bytes | None, bytes | None] | None:
    """(Accept-Encoding, If-None-Match), or None where the request says more than these can."""
    accept_encoding = if_none_match = None
    for name, value in headers:
        if name == b"accept-encoding":
            if accept_encoding is not None:
                return None
            accept_encoding = value
        elif name == b"if-none-match":
            if if_none_match is not None:
                return None
            if_none_match = value
        elif name == b"authorization":
            return None
    return accept_encoding, if_none_match
