"""All that a job prints, on every stream, node and attempt, in pieces."""

from collections.abc import Iterable

from msgspec import Struct

from fairwatt.call import Call, Flow, Pause, get
from fairwatt.errors import NotFound
from fairwatt.feeds.events import busy
from fairwatt.retry import Rules, ask, exchange, read
from fairwatt.structs.attempts import LogPage, LogStream
from fairwatt.structs.jobs import Job, JobDetail

PIECE_BYTES = 256 * 1024
WAIT_S = 2
POLL_S = 0.5
# An attempt that is over may still upload what it printed last.
LATE_S = 5.0
Place = tuple[int, str, str]


class LogChunk(Struct, frozen=True):
    """A piece of what an attempt printed on one stream of one node."""

    attempt: int
    node: str
    stream: str
    offset: int
    text: str


class LogFeed:
    def __init__(self, job_id: int, rules: Rules, *, follow: bool = True) -> None:
        self.over = False
        self._job_id, self._rules, self._follow = job_id, rules, follow
        self._streams: dict[Place, LogStream] = {}
        self._read: dict[Place, int] = {}
        self._job: Job | None = None
        self._ended_s: float | None = None

    def more(self) -> Flow[list[Job | LogChunk]]:
        """What is new; nothing, if nothing happened for a moment."""
        if not self._streams and self._job is None:
            yield from self._look(get(self._path, LogPage, offset=0, limit=1))
        place = self._unread()
        if place is not None:
            return [(yield from self._piece(place))]
        if not self._follow:
            self.over = True
            return []
        return (yield from self._wait())

    @property
    def _path(self) -> str:
        return f"jobs/{self._job_id}/logs/"

    def _unread(self) -> Place | None:
        """The oldest attempt first, its nodes one after another, stdout before stderr."""
        unread = [
            place for place, each in self._streams.items() if each.size > self._read.get(place, 0)
        ]
        return min(
            unread, key=lambda place: (place[0], place[1], place[2] != "stdout"), default=None
        )

    def _piece(self, place: Place) -> Flow[LogChunk]:
        attempt, node, stream = place
        offset = self._read.get(place, 0)
        call = get(self._path, LogPage, attempt=attempt, node=node, stream=stream, offset=offset,
                   limit=PIECE_BYTES)  # fmt: skip
        page = yield from ask(call, self._rules)
        self._know(page)
        self._read[place] = max(page.next_offset, offset)
        return LogChunk(attempt, node, stream, offset, page.text)

    def _wait(self) -> Flow[list[Job | LogChunk]]:
        """Until something is printed; the job is asked for only while nothing is open."""
        open_place = next((place for place, log in self._streams.items() if not log.closed), None)
        if open_place is not None and self._ended_s is None:
            yield from self._wait_at(open_place)
        elif not self._streams and self._ended_s is None:
            yield from self._wait_for_first()
        else:
            yield Pause(POLL_S)
            yield from self._look(get(self._path, LogPage, offset=0, limit=1))
        if self._unread() is not None:
            return []
        return (yield from self._job_news())

    def _wait_for_first(self) -> Flow[None]:
        """Before the job has printed, the service waits with us if it has a place free."""
        call = get(self._path, LogPage, offset=0, limit=1, wait_s=WAIT_S)
        begun_s = self._rules.clock()
        reply = yield from exchange(call, self._rules, take=busy)
        if not busy(reply) and b'"no_log"' not in reply.body:
            self._know(read(call, reply, self._rules))
        elif self._rules.clock() - begun_s < POLL_S:
            # No place was free, or the job is over, or an older service waits for nobody.
            yield Pause(POLL_S)

    def _wait_at(self, place: Place) -> Flow[None]:
        attempt, node, stream = place
        call = get(self._path, LogPage, attempt=attempt, node=node, stream=stream,
                   offset=self._read.get(place, 0), limit=1, wait_s=WAIT_S)  # fmt: skip
        reply = yield from exchange(call, self._rules, take=busy)
        if busy(reply):
            yield Pause(POLL_S)
            yield from self._look(get(self._path, LogPage, offset=0, limit=1))
        else:
            self._know(read(call, reply, self._rules))

    def _look(self, call: Call[LogPage]) -> Flow[None]:
        """Which streams there are; none before the job has printed."""
        try:
            self._know((yield from ask(call, self._rules)))
        except NotFound as error:
            if error.code != "no_log":
                raise

    def _know(self, page: LogPage) -> None:
        self._streams = {_place(each): each for each in page.streams}

    def _job_news(self) -> Flow[list[Job | LogChunk]]:
        before = self._job
        job = self._job = yield from ask(get(f"jobs/{self._job_id}/", JobDetail), self._rules)
        if job.ended:
            self._settle(self._streams.values())
        moved = before is None or (before.state, before.reason) != (job.state, job.reason)
        return [job] if moved else []

    def _settle(self, streams: Iterable[LogStream]) -> None:
        """It is over when all it printed has come, or has had its time."""
        now_s = self._rules.clock()
        if self._ended_s is None:
            self._ended_s = now_s
        complete = bool(self._streams) and all(each.closed for each in streams)
        self.over = complete or now_s - self._ended_s > LATE_S


def _place(log: LogStream) -> Place:
    return log.attempt, log.node, log.stream
