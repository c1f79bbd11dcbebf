"""The crowd of the followers' benchmark: it counts every event once per follower."""

import asyncio

import pytest

from lab.benchmarks.followers.crowd import Crowd

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
# Two events, cut where a packet may end.
PARTS = (b'id: 1\ndata: {"id": 1}\n\nid: 2\nda', b'ta: {"id": 2}\n\n:\n\n')


async def scene(head: bytes, followers: int) -> Crowd:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in (head, *PARTS):
            writer.write(part)
            await writer.drain()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        crowd = Crowd(f"http://{host}:{port}", "fw_m_x")
        try:
            await crowd.gather(followers)
            async with asyncio.timeout(30):
                while sum(map(len, crowd.seen.values())) < 2 * followers:
                    await asyncio.sleep(0)
        finally:
            crowd.leave()
    return crowd


def test_every_follower_notes_every_event() -> None:
    crowd = asyncio.run(scene(HEAD, 3))
    assert {line: len(at_s) for line, at_s in crowd.seen.items()} == {
        b'data: {"id": 1}': 3,
        b'data: {"id": 2}': 3,
    }


def test_a_follower_that_is_refused_ends_the_benchmark() -> None:
    with pytest.raises(ConnectionError, match="503"):
        asyncio.run(scene(b"HTTP/1.1 503 Service Unavailable\r\n\r\n", 1))
