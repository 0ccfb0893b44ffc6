"""Logging: structured lines on standard error, with credentials in URLs taken out."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

_USERINFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^/\s@]*@")
_BEARER = re.compile(r"(?i)\b(bearer\s+|pbr_)[A-Za-z0-9._~+/=-]{8,}")


def redact(text: str) -> str:
    """The text without the userinfo of URLs and without bearer tokens."""
    return _BEARER.sub(r"\1…", _USERINFO.sub(r"\g<scheme>…@", text))


def configure(log_format: Literal["console", "json"], level: Literal["debug", "info", "warning", "error"]) -> None:
    """Set up structlog for this process; called once by an entry point, never at import."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.StackInfoRenderer(),
            *([structlog.processors.format_exc_info] if log_format == "json" else []),
            _redact_event,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _redact_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = redact(value)
    return event
