"""The service in this process, for as long as a block lasts."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.test.testcases import LiveServerThread

HOST = "localhost"


@contextmanager
def server() -> Iterator[str]:
    thread = LiveServerThread(HOST, StaticFilesHandler)
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    if thread.error:
        raise thread.error
    try:
        yield f"http://{HOST}:{thread.port}"
    finally:
        thread.terminate()
