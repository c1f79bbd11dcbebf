"""deploy/nginx with the real nginx before the real API, in production's settings."""

import base64
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

import httpx
import pytest

from scheduler_service.embedded.ports import free_port
from tests.live.conftest import Seeded
from tests.live.proxy import BODY_S, CONNECTIONS, ROOT, connect, nginx, proxied
from tests.live.raw import head
from tests.live.server import api_server
from tests.live.world import World

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        nginx() is None or shutil.which("openssl") is None,
        reason="nginx or openssl is not installed here",
    ),
]
PRODUCTION = {
    "FAIRWATT_ENV": "production",
    "SECRET_KEY": "of-a-test-" * 6,
    "SECRETS_KEYS": base64.urlsafe_b64encode(b"0123456789abcdef" * 2).decode(),
    "ALLOWED_HOSTS": "localhost,127.0.0.1",
}


@dataclass(frozen=True)
class Proxied:
    url: str
    behind: str
    http: httpx.Client
    world: World

    @property
    def port(self) -> int:
        return int(urlsplit(self.url).port or 443)

    def get(self, path: str, **headers: str) -> httpx.Response:
        token = {"Authorization": f"Bearer {self.world.secrets['admin']}"}
        return self.http.get(path, headers={**token, **headers})


@pytest.fixture(scope="module")
def site(seeded: Seeded) -> Iterator[Proxied]:
    """One API runs; the other of the list is down."""
    _, servers = seeded.clone("proxied")
    with api_server(servers, env=PRODUCTION) as behind:
        port = int(urlsplit(behind).port or 0)
        ports = [port, free_port()]
        with (
            proxied(seeded.directory / "nginx", apis=ports, doors=ports) as url,
            httpx.Client(base_url=url, verify=False, timeout=30, trust_env=False) as http,
        ):
            yield Proxied(url, behind, http, seeded.world)


def test_what_one_process_does_not_take_another_does(site: Proxied) -> None:
    assert {site.get("/api/v1/jobs/?limit=1").status_code for _ in range(20)} == {200}


def test_the_service_learns_that_the_client_used_tls(site: Proxied) -> None:
    with httpx.Client(base_url=site.behind, trust_env=False) as direct:
        assert direct.get("/api/v1/jobs/").status_code == 301
    assert site.get("/api/v1/jobs/?limit=1").status_code == 200


def test_a_body_that_drips_never_reaches_the_service(site: Proxied) -> None:
    with connect(site.port) as link:
        lines = (b"Host: localhost", b"Content-Length: 1000")
        link.sendall(head(b"POST", b"/api/v1/agent/register", *lines) + b"{")
        begun_s = monotonic()
        # nginx says 408, or hangs up.
        assert b"200" not in link.recv(65_536)[:20]
        assert BODY_S - 1 < monotonic() - begun_s < BODY_S + 5


def test_one_address_has_so_many_requests_under_way(site: Proxied) -> None:
    lines = (b"Host: localhost", b"Content-Length: 1000")
    request = head(b"POST", b"/api/v1/jobs/", *lines) + b"{"
    answered = b""
    with ExitStack() as held:
        links = [held.enter_context(connect(site.port)) for _ in range(CONNECTIONS + 5)]
        for link in links:
            link.sendall(request)
        links[-1].settimeout(BODY_S * 2)
        answered = links[-1].recv(65_536)
    assert b" 429 " in answered
    assert site.get("/api/v1/jobs/?limit=1").status_code == 200


def test_logins_are_few_a_minute(site: Proxied) -> None:
    statuses = [
        site.http.post("/admin/login/", data={"username": "x"}).status_code for _ in range(15)
    ]
    assert 429 in statuses
    assert statuses[0] != 429


def test_bodies_have_limits_by_where_they_go(site: Proxied) -> None:
    large = b"x" * (2 * 2**20 + 1)
    assert site.http.post("/api/v1/agent/sync", content=large).status_code == 413
    # The service refuses it unread; nginx, which still sends it, must hear that nevertheless.
    refused = {site.http.post("/api/v1/jobs/", content=4 * large).status_code for _ in range(20)}
    assert refused == {413}


def test_events_come_as_they_happen(site: Proxied) -> None:
    job = site.get("/api/v1/jobs/?limit=1").json()["items"][0]["id"]
    headers = {
        "Authorization": f"Bearer {site.world.secrets['admin']}",
        "Accept": "text/event-stream",
    }
    begun_s = monotonic()
    with site.http.stream("GET", f"/api/v1/jobs/{job}/events/", headers=headers) as stream:
        assert stream.status_code == 200
        assert next(stream.iter_bytes()).startswith(b"retry")
    assert monotonic() - begun_s < 10


def test_the_client_does_not_choose_its_address(site: Proxied) -> None:
    """Throttles count by what the proxy saw."""
    text = (ROOT / "deploy" / "nginx" / "fairwatt.conf").read_text()
    assert "X-Forwarded-For $remote_addr" in text
    assert "$proxy_add_x_forwarded_for" not in text


@pytest.mark.skipif(shutil.which("caddy") is None, reason="Caddy is not installed here")
def test_caddy_takes_its_configuration() -> None:
    config = str(ROOT / "deploy" / "caddy" / "Caddyfile")
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", config]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr[-2000:]
