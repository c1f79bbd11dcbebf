"""Log lines: JSON in production, readable elsewhere, and never a secret in either."""

import logging
import re
from collections.abc import Mapping, MutableMapping
from typing import Any

import structlog

from scheduler_service import environment

HIDDEN = "[hidden]"
_SECRET_KEYS = re.compile(
    r"(?:^|[_-])(?:authorization|password|passwd|secret|secret_key|token|cookie|api_key)$",
    re.IGNORECASE,
)
_VALUE = r"""[^\s"'\\,;&)}\]]+"""
# Applied to the finished line, so that no repr, traceback or nested value escapes them.
_SECRET_TEXTS = (
    (re.compile(r"\bfw_[\w.~+/=-]+"), HIDDEN),
    (re.compile(rf"\b(bearer|basic)(\s+){_VALUE}", re.IGNORECASE), rf"\1\2{HIDDEN}"),
    (re.compile(r"(://[^\s:/@\"']*):[^\s@/\"']+@"), rf"\1:{HIDDEN}@"),
    (
        re.compile(
            rf"""((?:password|passwd|secret|secret_key)\\?["']?\s*[=:]\s*\\?["']?){_VALUE}""",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
)

_Event = MutableMapping[str, Any]


def formatter() -> logging.Formatter:
    """Django's LOGGING calls it once; structlog's own loggers end in the same lines."""
    production = environment.text("FAIRWATT_ENV", "development") == "production"
    as_json = environment.text("FAIRWATT_LOG", "json" if production else "text") == "json"
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            hide_keys,
            _safe(_json if as_json else structlog.dev.ConsoleRenderer(colors=False)),
        ],
    )


def hide_keys(logger: object, method: str, event: _Event) -> _Event:
    """Values under a name that means a secret, however deep."""
    return {key: _hidden(key, value) for key, value in event.items()}


def hide_texts(line: str) -> str:
    """What looks like a secret, wherever it stands in the finished line."""
    for pattern, replacement in _SECRET_TEXTS:
        line = pattern.sub(replacement, line)
    return line


_json = structlog.processors.JSONRenderer(sort_keys=True)


def _safe(render: structlog.typing.Processor) -> structlog.typing.Processor:
    def line(logger: object, method: str, event: _Event) -> str:
        return hide_texts(str(render(logger, method, event)))

    return line


def _hidden(key: object, value: Any) -> Any:
    if isinstance(key, str) and _SECRET_KEYS.search(key):
        return HIDDEN
    if isinstance(value, Mapping):
        return {inner: _hidden(inner, item) for inner, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(None, item) for item in value]
    return value
