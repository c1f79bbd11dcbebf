"""Free ports and taken ones."""

import socket

from scheduler_service.embedded import ports


def test_a_listener_takes_its_port_until_it_closes() -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
        assert not ports.is_free(port)
    assert ports.is_free(port)


def test_a_free_port_can_be_listened_on() -> None:
    with socket.create_server((ports.LOOPBACK, ports.free_port())):
        pass
