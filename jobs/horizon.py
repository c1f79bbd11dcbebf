"""Up to which id the events of all jobs are complete.

Ids are drawn in order and committed in any: who was told of event 11 would miss a 10 that is
committed later. So events of many jobs are told only up to an id below which nothing can appear
any more. A transaction draws its ids after Postgres has numbered it (it has locked a job by then);
once all transactions that were under way at one look have ended, what was the newest id then has
every event before it.
"""

from typing import NamedTuple

LOOK = """
SELECT coalesce((SELECT max(id) FROM jobs_jobevent), 0),
    pg_snapshot_xmin(pg_current_snapshot())::text::int8,
    pg_snapshot_xmax(pg_current_snapshot())::text::int8
"""


class Look(NamedTuple):
    """The newest event, and which transactions had ended, of one snapshot of the database.

    All below `all_ended_below` had; none had begun from `none_begun_from` on.
    """

    newest: int
    all_ended_below: int
    none_begun_from: int


class Horizon:
    """Grows with every look; looks may be taken in any order."""

    def __init__(self) -> None:
        self.settled = 0
        self._open: list[Look] = []

    def take(self, look: Look) -> int:
        """The newest id before which nothing can appear any more."""
        if all(look.newest != known.newest for known in self._open):
            self._open.append(look)
        ended = look.all_ended_below
        done = [each.newest for each in self._open if each.none_begun_from <= ended]
        self.settled = max([self.settled, *done])
        self._open = [each for each in self._open if each.newest > self.settled]
        return self.settled
