"""How often a page asks the database."""

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return len(seen)
