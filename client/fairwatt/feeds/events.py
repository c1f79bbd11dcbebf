"""Moves of jobs, from streams of server-sent events that are resumed where they broke."""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from fairwatt.call import Call, Flow, NextLine, Open, Pause, Query, Reply, get
from fairwatt.pages import Page
from fairwatt.retry import Rules, ask, backoff_s, exchange, read
from fairwatt.structs.jobs import Event, JobEvent

# The service says something every fifteen seconds; thrice as long without a word is a dead line.
SILENCE_S = 45.0
POLL_S = 1.0
E = TypeVar("E", bound=Event)


def busy(reply: Reply) -> bool:
    """Whether all places for those who wait are taken: asking again later is not following."""
    return reply.status == 503 and b"too_many_streams" in reply.body


class StreamFeed(Generic[E]):
    """Keeps its place in one stream; `after` is the last id that was seen, None for none."""

    def __init__(
        self, path: str, event: type[E], rules: Rules, *, after: int | None, query: Query
    ) -> None:
        self.after = after
        self._path, self._event, self._rules, self._query = path, event, rules, query
        self._open = False
        self._broken = 0
        # An id counts once its block has come whole: before that its event may still be lost.
        self._place = after

    def connect(
        self, silence_s: float = SILENCE_S, take: Callable[[Reply], bool] = lambda reply: False
    ) -> Flow[Reply]:
        """The answer that begins a stream, or that `take` wants instead."""
        headers = {"Accept": "text/event-stream"}
        if self.after is not None:
            headers["Last-Event-ID"] = str(self.after)
        call = Call("GET", self._path, self._event, query=self._query, headers=headers)
        reply = yield from exchange(call, self._rules, step=Open, timeout_s=silence_s, take=take)
        if not reply.ok and not take(reply):
            read(call, reply, self._rules)
        self._open = reply.ok and reply.status != 204
        return reply

    def next(self) -> Flow[list[E]]:
        """One event of the stream; none, if the line broke."""
        while self._open:
            line: str | None = yield NextLine()
            if line is None:
                self._open = False
                # A stream that ends at once, again and again, must not become a busy loop.
                yield Pause(backoff_s(min(self._broken, 5)))
                self._broken += 1
                continue
            self._keep_place(line)
            if line.startswith("data:"):
                event = msgspec.json.decode(line[5:], type=self._event)
                self.after = event.id
                return [event]
        return []

    def _keep_place(self, line: str) -> None:
        if line[:1] in {":", "d"}:
            self._broken = 0
        if line.startswith("id:"):
            self._place = int(line[3:])
        elif not line:
            self.after = self._place


class EventFeed(StreamFeed[Event]):
    """One job's moves; from its list where no stream is free."""

    def __init__(self, job_id: int, rules: Rules, after: int = 0) -> None:
        super().__init__(f"jobs/{job_id}/events/", Event, rules, after=after, query={})
        self.ended = False

    def more(self, *, longest_s: float | None = None) -> Flow[list[Event]]:
        """What has happened since; nothing, if the line broke or nothing happened for a while."""
        if not self._open and not (yield from self._connected(longest_s)):
            return self._seen((yield from self._listed()))
        return self._seen((yield from self.next()))

    def _connected(self, longest_s: float | None) -> Flow[bool]:
        """Whether there is a stream now."""
        silence_s = SILENCE_S if longest_s is None else min(SILENCE_S, longest_s + 0.1)
        reply = yield from self.connect(silence_s, take=busy)
        self.ended = reply.status == 204
        return not busy(reply)

    def _listed(self) -> Flow[list[Event]]:
        yield Pause(POLL_S)
        found = yield from ask(get(self._path, Page[Event], limit=1000), self._rules)
        news = (each for each in found.items if each.id > (self.after or 0))
        return sorted(news, key=lambda each: each.id)

    def _seen(self, events: list[Event]) -> list[Event]:
        if events:
            self.after, self.ended = events[-1].id, events[-1].to_state.ended
        return events


class ManyEventFeed(StreamFeed[JobEvent]):
    """The moves of many jobs, which never end; a list has no safe place to go on from."""

    def __init__(self, rules: Rules, *, after: int | None, query: Query) -> None:
        super().__init__("jobs/events/", JobEvent, rules, after=after, query=query)

    def more(self) -> Flow[list[JobEvent]]:
        """What has happened since; nothing, if the line broke."""
        if not self._open:
            yield from self.connect()
        return (yield from self.next())
