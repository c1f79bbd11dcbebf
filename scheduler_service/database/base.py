"""The engine that settings name: connections that notice a silent server, and say so quickly."""

from threading import Lock
from time import monotonic
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base
from psycopg.errors import ConnectionTimeout

from scheduler_service.database.silence import QuestioningConnection, ServerSilent

# While nobody answers, the next connection is tried only after this: threads are for others.
RETRY_AFTER_S = 1.0
# Beyond the server's own limit for a statement.
GRACE_S = 10.0


class Unanswered:
    """When a server last left a connection unanswered; all threads of a process share it."""

    def __init__(self) -> None:
        self._until_s = 0.0
        self._lock = Lock()

    def refuse(self) -> None:
        with self._lock:
            if monotonic() < self._until_s:
                raise ServerSilent("the database did not answer a moment ago")

    def note(self) -> None:
        with self._lock:
            self._until_s = monotonic() + RETRY_AFTER_S


_unanswered = Unanswered()


class _Psycopg:
    """The driver's module, but for the connections that it makes."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def connect(self, **parameters: Any) -> QuestioningConnection:
        _unanswered.refuse()
        try:
            connection = QuestioningConnection.connect(**parameters)
        except ConnectionTimeout:
            _unanswered.note()
            raise
        statement_s = settings.DATABASE_TIMEOUTS_S["statement_timeout"]
        if statement_s > 0:
            connection.longest_s = statement_s + GRACE_S
        return connection


class DatabaseWrapper(base.DatabaseWrapper):
    Database = _Psycopg(base.DatabaseWrapper.Database)  # type: ignore[assignment]
