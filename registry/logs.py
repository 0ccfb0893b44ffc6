"""Logging: structured lines on standard error, with credentials taken out and nothing that steers a terminal."""

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Literal

import structlog

VALUE_LENGTH_MAX = 16_384
"""Characters of one value, a traceback included: what a remote said must not fill the disk."""

_USERINFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}://)[^/\s@]*@")
_BEARER = re.compile(r"(?i)\b(bearer\s+|basic\s+|pbr_)[A-Za-z0-9._~+/=-]{8,}")
_QUERY = re.compile(r"(?i)\b((?:access_|private_|api_?)?(?:token|key|password|secret)=)[^\s&;,'\"]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def redact(text: str) -> str:
    """The text without the userinfo of URLs, tokens, and control characters other than line breaks and tabs."""
    text = _USERINFO.sub(r"\g<scheme>…@", text[: 4 * VALUE_LENGTH_MAX])
    text = _QUERY.sub(r"\1…", _BEARER.sub(r"\1…", text))
    return _CONTROL.sub("�", text)[:VALUE_LENGTH_MAX]


def configure(log_format: Literal["console", "json"], level: Literal["debug", "info", "warning", "error"]) -> None:
    """Set up structlog for this process; called once by an entry point, never at import."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            # Tracebacks become text here, whatever the format, so that what stands in them is redacted too. It is the
            # plain text: no local variable, which may be a secret, is in it.
            structlog.processors.format_exc_info,
            _redact_event,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _redact_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        event[key] = _redacted(value)
        if key != "exception" and isinstance(event[key], str):
            # One event is one line; only a traceback has more.
            event[key] = " ".join(event[key].splitlines())
    return event


def _redacted(value: object) -> object:
    """The value with every text in it redacted; anything but plain data as the text that would be logged of it."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(key)): _redacted(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(item) for item in value]
    return redact(str(value))
