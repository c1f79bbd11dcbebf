"""Watching many jobs at once."""

from fairwatt.call import Item, Stream, given
from fairwatt.feeds.events import ManyEventFeed
from fairwatt.operation import Asker, stream
from fairwatt.pages import Page, all_pages
from fairwatt.structs.jobs import JobEvent


class WatchCalls(Asker):
    @stream
    def watch(
        self,
        *,
        cluster: str | None = None,
        tenant: str | None = None,
        state: str | None = None,
        label: str | None = None,
        array: int | None = None,
        after: int | None = None,
    ) -> Stream[JobEvent]:
        """The moves of all jobs as they happen, for ever; nothing is missed on reconnecting.

        A tenant sees its own jobs, an operator everybody's. `state` is one, or several with
        commas between; `after` the id of the last event that was seen. Without it the watch
        begins now.

        >>> next(client.watch(state="queued,running", after=0)).to_state
        <JobState.QUEUED: 'queued'>
        """
        query = {"cluster": cluster, "tenant": tenant, "state": state, "label": label}
        feed = ManyEventFeed(self.following, after=after, query=given({**query, "array": array}))
        while True:
            for event in (yield from feed.more()):
                yield Item(event)

    @stream
    def history(
        self,
        *,
        cluster: str | None = None,
        tenant: str | None = None,
        state: str | None = None,
        label: str | None = None,
        array: int | None = None,
    ) -> Stream[JobEvent]:
        """The moves of all jobs so far, the newest first.

        >>> next(client.history(state="succeeded")).to_state
        <JobState.SUCCEEDED: 'succeeded'>
        """
        query = {"cluster": cluster, "tenant": tenant, "state": state, "label": label}
        return all_pages(self.rules, "jobs/events/", Page[JobEvent], {**query, "array": array})
