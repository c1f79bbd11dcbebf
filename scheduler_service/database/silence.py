"""A connection that does not wait for a server which no longer answers.

Timeouts of the server's own do not help when the server is stopped, and its kernel still takes our
bytes: after SILENCE_S without a word a second connection asks whether anybody is there. A long
statement of a living server goes on.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import ConnectionTimeout
from psycopg.waiting import Ready

SILENCE_S = 3.0
# libpq takes no less.
QUESTION_S = 2
Result = TypeVar("Result")


class ServerSilent(psycopg.OperationalError):
    """Postgres has stopped answering, or one of its sessions has for too long."""


class QuestioningConnection(psycopg.Connection[Any]):
    # Whatever a statement may take by the server's own limit, and a little more.
    longest_s = float("inf")

    def wait(
        self, gen: PQGen[Result], interval: float = 0.1, timeout: float | None = None
    ) -> Result:
        if timeout is not None:  # whoever names one waits for others' news, and silence is normal
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(questioned(gen, self._answers, self.longest_s), interval)
        except ServerSilent:
            self.pgconn.finish()
            raise

    def _answers(self) -> bool:
        info = self.info
        try:
            psycopg.Connection.connect(
                host=info.host,
                port=info.port,
                dbname=info.dbname,
                user=info.user,
                password=info.password,
                connect_timeout=QUESTION_S,
            ).close()
        except ConnectionTimeout:
            return False
        except psycopg.OperationalError:
            # Whoever refuses is there; had it gone, our own connection would have heard.
            return True
        return True


def questioned(
    gen: PQGen[Result],
    answers: Callable[[], bool],
    longest_s: float,
    clock: Callable[[], float] = monotonic,
) -> PQGen[Result]:
    """The same conversation, ended when nobody is at the other end."""
    begun_s = heard_s = clock()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready != Ready.NONE:
                heard_s = clock()
            elif clock() - begun_s > longest_s:
                raise ServerSilent("a session of the database has not answered for too long")
            elif clock() - heard_s > SILENCE_S:
                if not answers():
                    raise ServerSilent("the database does not answer")
                heard_s = clock()
            wanted = gen.send(ready)
    except StopIteration as over:
        result: Result = over.value
        return result
