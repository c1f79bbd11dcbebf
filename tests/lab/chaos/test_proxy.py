"""A wire that is whole, cut, silent, or loses the answers."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from lab.chaos.proxy import Proxies, Proxy, ProxyWire
from scheduler_service.embedded.ports import LOOPBACK

SHORT_S = 0.15


@pytest.fixture
def door() -> Iterator[socket.socket]:
    with socket.create_server((LOOPBACK, 0)) as made:
        made.settimeout(5)
        yield made


@pytest.fixture
def proxy(door: socket.socket) -> Iterator[Proxy]:
    proxies = Proxies()
    yield proxies.open(lambda: (LOOPBACK, door.getsockname()[1]))
    proxies.close()


def connect(proxy: Proxy, door: socket.socket) -> tuple[socket.socket, socket.socket]:
    near = socket.create_connection((LOOPBACK, proxy.port), timeout=5)
    far, _ = door.accept()
    far.settimeout(5)
    return near, far


def silent(peer: socket.socket) -> bool:
    peer.settimeout(SHORT_S)
    try:
        peer.recv(1)
    except TimeoutError:
        return True
    finally:
        peer.settimeout(5)
    return False


def is_reset(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_whole_wire_carries_both_ways(proxy: Proxy, door: socket.socket) -> None:
    near, far = connect(proxy, door)
    with closing(near), closing(far):
        near.sendall(b"ask")
        assert far.recv(3) == b"ask"
        far.sendall(b"answer")
        assert near.recv(6) == b"answer"


def test_a_cut_wire_resets_old_and_new(proxy: Proxy, door: socket.socket) -> None:
    near, far = connect(proxy, door)
    with closing(near), closing(far):
        proxy.set(ProxyWire.CUT)
        assert is_reset(near)
        with closing(socket.create_connection((LOOPBACK, proxy.port), timeout=5)) as again:
            assert is_reset(again)


def test_a_silent_wire_tells_nobody_until_it_is_whole(proxy: Proxy, door: socket.socket) -> None:
    near, far = connect(proxy, door)
    with closing(near), closing(far):
        proxy.set(ProxyWire.SILENT)
        near.sendall(b"ask")
        assert silent(far)
        proxy.set(ProxyWire.WHOLE)
        assert is_reset(near)


def test_lost_answers_leave_the_effect(proxy: Proxy, door: socket.socket) -> None:
    near, far = connect(proxy, door)
    with closing(near), closing(far):
        proxy.set(ProxyWire.ANSWERS_LOST)
        near.sendall(b"ask")
        assert far.recv(3) == b"ask"
        far.sendall(b"answer")
        assert silent(near)
