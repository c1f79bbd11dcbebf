"""Log lines carry the request and never a secret."""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator

import pytest
import structlog

from scheduler_service import logs

TOKEN = "fw_live_abcDEF-123_456"
Log = Callable[[], str]


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Log]:
    """What the `probe` loggers write, as JSON unless the test is parametrised otherwise."""
    monkeypatch.setenv("FAIRWATT_LOG", getattr(request, "param", "json"))
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logs.formatter())
    logger = logging.getLogger("probe")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    structlog.contextvars.clear_contextvars()
    yield written.getvalue
    logger.removeHandler(handler)
    structlog.contextvars.clear_contextvars()


both = pytest.mark.parametrize("stream", ["json", "text"], indirect=True)


def test_a_line_is_one_json_object_with_the_request_it_belongs_to(stream: Log) -> None:
    structlog.contextvars.bind_contextvars(request_id="r-1")
    logging.getLogger("probe").warning("disk %s is full", "sda", extra={"free_mib": 3})
    line = json.loads(stream())
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "disk sda is full",
        "free_mib": 3,
        "level": "warning",
        "logger": "probe",
        "request_id": "r-1",
    }


def test_structlogs_loggers_write_the_same_lines(stream: Log) -> None:
    structlog.get_logger("probe").info("round_done", cluster="demo", plan_ms=8.5)
    line = json.loads(stream())
    assert (line["event"], line["cluster"], line["plan_ms"]) == ("round_done", "demo", 8.5)


def test_text_is_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRWATT_LOG", "text")
    record = logging.LogRecord("probe", logging.INFO, "", 0, "hello", (), None)
    line = logs.formatter().format(record)
    assert "hello" in line
    assert not line.startswith("{")


def test_production_writes_json_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRWATT_LOG", raising=False)
    monkeypatch.setenv("FAIRWATT_ENV", "production")
    record = logging.LogRecord("probe", logging.INFO, "", 0, "hello", (), None)
    assert json.loads(logs.formatter().format(record))["event"] == "hello"


@both
@pytest.mark.parametrize(
    ("message", "leak"),
    [
        (f"token {TOKEN} was used", TOKEN),
        (f"Authorization: Bearer {TOKEN}", TOKEN),
        ("Authorization: Bearer eyJhbGciOi.J9.x", "eyJhbGciOi"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("{'HTTP_AUTHORIZATION': 'Bearer abc123xyz'}", "abc123xyz"),
        ("cannot reach redis://:s3cret-pw@127.0.0.1:6379/0", "s3cret-pw"),
        ("cannot reach postgresql://fairwatt:s3cret-pw@db/fairwatt", "s3cret-pw"),
        ('connection failed: host=db password="s3cret-pw" port=5432', "s3cret-pw"),
        ("{'password': 's3cret-pw'}", "s3cret-pw"),
        ("SECRET_KEY=s3cret-pw", "s3cret-pw"),
    ],
)
def test_no_secret_in_a_message(stream: Log, message: str, leak: str) -> None:
    logging.getLogger("probe").warning("%s", message)
    assert leak not in stream()
    assert logs.HIDDEN in stream()


@both
@pytest.mark.parametrize(
    "name", ["password", "authorization", "Authorization", "db_password", "join_token", "cookie"]
)
def test_no_secret_under_a_telling_name(stream: Log, name: str) -> None:
    structlog.get_logger("probe").info("called", **{name: "plain"}, nested={"x": [{name: "plain"}]})
    assert "plain" not in stream()


@both
def test_no_secret_in_a_traceback(stream: Log) -> None:
    try:
        raise ValueError(f"bad token {TOKEN}, dsn postgresql://u:s3cret-pw@h/d")
    except ValueError:
        logging.getLogger("probe").error("failed", exc_info=sys.exc_info())
    assert "ValueError" in stream()
    assert TOKEN not in stream()
    assert "s3cret-pw" not in stream()


def test_a_hidden_secret_leaves_valid_json(stream: Log) -> None:
    structlog.get_logger("probe").info(f'said "{TOKEN}"', header=f"Bearer {TOKEN}", n=1)
    assert json.loads(stream())["n"] == 1


def test_ordinary_words_stay(stream: Log) -> None:
    text = "the password policy asks for a token; http://127.0.0.1:8000/api/v1/jobs/?limit=1"
    logging.getLogger("probe").info(text)
    assert json.loads(stream())["event"] == text
