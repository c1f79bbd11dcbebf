"""Nobody holds a thread: bodies that drip, come without length, or come from nobody are cut off."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from urllib.parse import urlsplit

import httpx
import pytest

from scheduler_service.front.bodies import ANONYMOUS_BYTES, BODY_S
from tests.live.conftest import Live
from tests.live.raw import MIB, RawAnswer, chunked, exchange, head

REGISTER = b"/api/v1/agent/register"
JOBS = b"/api/v1/jobs/"


def _anonymous(live: Live, target: bytes, *lines: bytes, body: bytes = b"") -> RawAnswer:
    sent = head(b"POST", target, b"Host: localhost", b"Connection: close", *lines)
    return exchange(live.url, sent, [body] if body else ())


@contextmanager
def _dripping(live: Live, sockets: int) -> Iterator[list[socket.socket]]:
    """Each has sent the head of a request and one byte of its body."""
    where = urlsplit(live.url)
    lines = (b"Host: localhost", b"Content-Type: application/json", b"Content-Length: 1000")
    with ExitStack() as held:
        links = []
        for _ in range(sockets):
            link = socket.create_connection((str(where.hostname), int(where.port or 80)), 30)
            held.enter_context(link)
            link.sendall(head(b"POST", REGISTER, *lines) + b"{")
            links.append(link)
        yield links


def test_sixty_dripping_sockets_hold_nobody_up(live: Live) -> None:
    """With four threads, four of them stopped the whole process."""
    with _dripping(live, 60):
        begun_s = monotonic()
        assert live.http.get("/healthz").status_code == 200
        assert live.send("admin", "GET", "/api/v1/jobs/?limit=1").status_code == 200
        assert monotonic() - begun_s < BODY_S / 2


def test_a_body_that_drips_is_cut_off(live: Live) -> None:
    with _dripping(live, 1) as (link,):
        begun_s = monotonic()
        answer = link.recv(65_536)
        assert b"408 Request Timeout" in answer
        assert b"body_too_slow" in answer
        assert monotonic() - begun_s < BODY_S + 5


def test_chunks_are_read_for_callers_only(live: Live) -> None:
    lines = (b"Transfer-Encoding: chunked", b"Content-Type: application/json")
    for identity in ((), (b"Authorization: Bearer fw_m_" + b"x" * 43,)):
        answer = _anonymous(live, JOBS, *lines, *identity)
        assert (answer.status, answer.json()["code"]) == (411, "length_required")

    token = live.world.secrets["admin"].encode()
    sent = head(b"POST", JOBS, b"Host: localhost", b"Connection: close", *lines,
                b"Authorization: Bearer " + token)  # fmt: skip
    answer = exchange(live.url, sent, chunked([b"{}"]))
    assert answer.status == 400


def test_strangers_send_little(live: Live) -> None:
    length = b"Content-Length: %d" % (ANONYMOUS_BYTES + 1)
    answer = _anonymous(live, JOBS, b"Content-Type: application/json", length)
    assert (answer.status, answer.json()["code"]) == (413, "body_too_large")
    assert answer.sent == 0
    # For somebody who is known it is read.
    body = b" " * (2 * MIB)
    answer2 = live.send("admin", "POST", "/api/v1/jobs/", content=body,
                        headers={"Content-Type": "application/json"})  # fmt: skip
    assert answer2.status_code == 400


def test_many_wrong_passwords_at_once_delay_nobody(live: Live) -> None:
    """One thread checks passwords; who comes when eight wait is told to come back."""
    with httpx.Client(base_url=live.url, timeout=60, trust_env=False) as http:
        page = http.get("/admin/login/")
        form = {
            "username": "nobody",
            "password": "wrong",
            "csrfmiddlewaretoken": page.cookies["csrftoken"],
        }
        statuses: list[int] = []

        def guess() -> None:
            cookies = {"csrftoken": page.cookies["csrftoken"]}
            answer = httpx.post(f"{live.url}/admin/login/", data=form, cookies=cookies, timeout=60,
                                headers={"Referer": live.url}, trust_env=False)  # fmt: skip
            statuses.append(answer.status_code)

        guessers = [threading.Thread(target=guess) for _ in range(40)]
        for guesser in guessers:
            guesser.start()
        begun_s = monotonic()
        assert http.get("/healthz").status_code == 200
        assert live.send("admin", "GET", "/api/v1/jobs/?limit=1").status_code == 200
        waited_s = monotonic() - begun_s
        for guesser in guessers:
            guesser.join()
    assert set(statuses) <= {200, 503}
    assert waited_s < 10


@pytest.mark.parametrize("name", [b"X_Request_ID", b"X_Forwarded_For"])
def test_a_header_with_an_underscore_does_not_pass_for_the_real_one(
    live: Live, name: bytes
) -> None:
    sent = head(b"GET", b"/readyz", b"Host: localhost", b"Connection: close", name + b": forged")
    answer = exchange(live.url, sent)
    assert answer.status == 200
    assert b"forged" not in answer.body


def test_alive_is_answered_without_a_thread(live: Live) -> None:
    answer = live.http.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert live.http.head("/healthz").status_code == 200
