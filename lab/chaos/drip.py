"""Strangers who open connections and send their request a byte at a time."""

import socket
import threading
import time

REQUEST = b"POST /api/v1/jobs/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"1\r\nx\r\n"
PACE_S = 0.3


class Drip:
    def __init__(self, address: tuple[str, int], connections: int) -> None:
        self._address, self._count = address, connections
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        open_sockets = [each for _ in range(self._count) if (each := self._open())]
        while not self._over.is_set():
            for each in open_sockets:
                _send(each, CHUNK)
            time.sleep(PACE_S)
        for each in open_sockets:
            each.close()

    def _open(self) -> socket.socket | None:
        try:
            made = socket.create_connection(self._address, timeout=2)
        except OSError:
            return None
        _send(made, REQUEST)
        return made


def _send(peer: socket.socket, data: bytes) -> None:
    try:
        peer.sendall(data)
    except OSError:
        peer.close()
