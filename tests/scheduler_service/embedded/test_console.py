"""Lines of many programs, whole and named."""

import io

import pytest

from scheduler_service.embedded.console import LINE_MAX_BYTES, Console, Lines


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"one\ntwo\n"], ["one", "two"]),
        ([b"on", b"e\nt", b"wo\n"], ["one", "two"]),
        ([b"one\r\n"], ["one"]),
        ([b"\n\n"], ["", ""]),
        ([b"no end"], ["no end"]),
        ([b"\xff\n"], ["\ufffd"]),
        ([b"\xe2\x82", b"\xac\n"], ["€"]),
        ([], []),
    ],
)
def test_chunks_become_lines(chunks: list[bytes], lines: list[str]) -> None:
    buffer = Lines()
    seen = [line for chunk in chunks for line in buffer.feed(chunk)]
    assert seen + buffer.close() == lines


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    buffer = Lines()
    assert [len(line) for line in buffer.feed(b"x" * (LINE_MAX_BYTES + 1))] == [LINE_MAX_BYTES + 1]
    assert buffer.close() == []


def test_names_are_padded_and_uncoloured_in_a_pipe() -> None:
    stream = io.StringIO()
    console = Console(stream)
    console.line("api", "hello")
    console.line("postgres", "ready")
    assert stream.getvalue() == "api      | hello\npostgres | ready\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_names_are_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    Console(terminal).line("api", "hello")
    assert "\x1b[" in terminal.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    Console(plain).line("api", "hello")
    assert "\x1b[" not in plain.getvalue()


class Hangup(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_terminal_that_is_gone_is_not_missed() -> None:
    console = Console(Hangup())
    console.line("api", "hello")
    console.say("still here")
