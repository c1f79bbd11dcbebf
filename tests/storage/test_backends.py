"""A directory and a real S3 server keep bytes alike."""

import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import obstore
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pytest_django import Settings

from storage.backends import Backend, backend
from storage.backends.base import ObjectMissing
from storage.backends.s3 import S3Backend

SIZE = 9 * 2**20 + 17
DATA = bytes(range(251)) * (SIZE // 251 + 1)


class _Silent(WSGIRequestHandler):
    def log_message(self, *_args: Any) -> None:
        return


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    application = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, application, handler_class=_Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=["directory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Backend:
    if request.param == "directory":
        settings.STORAGE_URL = str(tmp_path / "storage")
        return backend()
    settings.S3_ENDPOINT = request.getfixturevalue("s3_url")
    settings.S3_ACCESS_KEY_ID = settings.S3_SECRET_ACCESS_KEY = "test"
    settings.STORAGE_URL = f"s3://bucket-{tmp_path.name.replace('_', '-')[-40:]}/some/prefix"
    made = backend()
    assert isinstance(made, S3Backend)
    _make_bucket(settings.S3_ENDPOINT, settings.STORAGE_URL)
    return made


def _make_bucket(endpoint: str, url: str) -> None:
    name = url.removeprefix("s3://").partition("/")[0]
    asked = urllib.request.Request(f"{endpoint}/{name}", method="PUT")
    urllib.request.urlopen(asked).close()


def whole(place: Backend, key: str, start: int, length: int) -> bytes:
    return b"".join(place.read(key, start, length))


def test_what_is_put_is_read(place: Backend, tmp_path: Path) -> None:
    place.put("blobs/1/a", DATA[:100])
    large = tmp_path / "large"
    large.write_bytes(DATA[:SIZE])
    place.put_file("blobs/1/b", large)
    assert whole(place, "blobs/1/a", 0, 100) == DATA[:100]
    assert whole(place, "blobs/1/b", 0, SIZE) == DATA[:SIZE]
    assert whole(place, "blobs/1/b", SIZE - 5, 5) == DATA[SIZE - 5 : SIZE]
    assert whole(place, "blobs/1/b", 8 * 2**20 - 3, 6) == DATA[8 * 2**20 - 3 : 8 * 2**20 + 3]


def test_what_is_put_again_is_the_same(place: Backend) -> None:
    place.put("k", b"first")
    place.put("k", b"second")
    assert whole(place, "k", 0, 6) == b"second"


def test_what_is_deleted_is_missing(place: Backend) -> None:
    place.put("blobs/1/a", b"x")
    place.delete(["blobs/1/a"])
    place.delete(["blobs/1/a", "never/was"])
    place.delete([])
    with pytest.raises(ObjectMissing):
        whole(place, "blobs/1/a", 0, 1)


def test_the_server_holds_the_objects(s3_url: str, settings: Settings, tmp_path: Path) -> None:
    settings.S3_ENDPOINT, settings.STORAGE_URL = s3_url, "s3://listed/p"
    settings.S3_ACCESS_KEY_ID = settings.S3_SECRET_ACCESS_KEY = "test"
    _make_bucket(s3_url, settings.STORAGE_URL)
    made = backend()
    made.put("blobs/1/a", b"x")
    assert isinstance(made, S3Backend)
    assert [meta["path"] for page in obstore.list(made._store) for meta in page] == ["blobs/1/a"]
