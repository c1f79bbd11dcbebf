"""Following jobs: what they print, how they move, and their end."""

from collections.abc import Collection

from fairwatt.call import Call, Flow, Item, Stream, get
from fairwatt.errors import JobFailed, WaitedTooLong
from fairwatt.feeds.events import EventFeed
from fairwatt.feeds.logs import LogChunk, LogFeed
from fairwatt.operation import Asker, operation, procedure, stream
from fairwatt.pages import Page
from fairwatt.retry import ask
from fairwatt.structs.attempts import LogPage
from fairwatt.structs.jobs import Event, Job, JobDetail
from fairwatt.structs.words import JobState


class FollowCalls(Asker):
    @procedure
    def wait(
        self, job_id: int, *, timeout_s: float | None = None, check: bool = False
    ) -> Flow[JobDetail]:
        """The job, once it is over; survives a restart of the service.

        With `check`, a job that did not succeed raises JobFailed; after `timeout_s` it is
        WaitedTooLong.

        >>> client.wait(job.id, timeout_s=120).exit_code
        0
        """
        clock = self.following.clock
        until_s = None if timeout_s is None else clock() + timeout_s
        feed = EventFeed(job_id, self.following)
        while not feed.ended:
            left_s = None if until_s is None else until_s - clock()
            if left_s is not None and left_s <= 0:
                raise WaitedTooLong(
                    f"Job {job_id} is not over after {timeout_s:g} s.",
                    f"It goes on; `fairwatt why {job_id}` says where it is.",
                )
            yield from feed.more(longest_s=left_s)
        job = yield from ask(get(f"jobs/{job_id}/", JobDetail), self.following)
        if check and job.state is not JobState.SUCCEEDED:
            raise JobFailed(job.id, job.state, job.reason)
        return job

    @stream
    def events(self, job_id: int, *, after: int = 0) -> Stream[Event]:
        """The moves of a job as they happen, until it is over; nothing is missed on reconnecting.

        `after` is the id of the last event that was seen.

        >>> [event.to_state.value for event in client.events(done.id)]
        ['queued', 'placed', 'running', 'succeeded']
        """
        feed = EventFeed(job_id, self.following, after)
        while not feed.ended:
            for event in (yield from feed.more()):
                yield Item(event)

    @operation
    def job_events(self, job_id: int) -> Call[Page[Event]]:
        """The moves of a job so far.

        >>> client.job_events(held.id).items[0].to_state
        <JobState.QUEUED: 'queued'>
        """
        return get(f"jobs/{job_id}/events/", Page[Event], limit=1000)

    @stream
    def follow(self, job_id: int) -> Stream[Job | LogChunk]:
        """All that a job prints, and the job itself whenever it has moved, until it is over.

        >>> "".join(each.text for each in client.follow(done.id) if hasattr(each, "text"))
        '1\\n'
        """
        feed = LogFeed(job_id, self.following)
        while not feed.over:
            for each in (yield from feed.more()):
                yield Item(each)

    @stream
    def logs(
        self, job_id: int, *, follow: bool = False, streams: Collection[str] = ()
    ) -> Stream[LogChunk]:
        """What a job has printed; with `follow`, until it is over. All attempts, in order.

        >>> print("".join(chunk.text for chunk in client.logs(done.id)), end="")
        1
        """
        feed = LogFeed(job_id, self.following, follow=follow)
        while not feed.over:
            for each in (yield from feed.more()):
                if isinstance(each, LogChunk) and (not streams or each.stream in streams):
                    yield Item(each)

    @operation
    def log_page(
        self,
        job_id: int,
        *,
        attempt: int | None = None,
        node: str | None = None,
        stream: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> Call[LogPage]:
        """A part of one stream, by bytes; its end, where no `offset` is given.

        >>> client.log_page(done.id, stream="stdout", offset=0).text
        '1\\n'
        """
        query = {"attempt": attempt, "node": node, "stream": stream}
        return get(f"jobs/{job_id}/logs/", LogPage, **query, offset=offset, limit=limit)
