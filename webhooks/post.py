"""One POST to a receiver: only to an address that is permitted, without redirects, in time."""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from typing import Any

import httpcore

from webhooks.addresses import AddressRefused, Networks, Resolver

CONNECTIONS = 64
STEP_S, WHOLE_S, IDLE_S = 5.0, 10.0, 30.0
_TIMEOUTS = dict.fromkeys(("connect", "read", "write", "pool"), STEP_S)


class NotDelivered(Exception):
    """In one sentence, for the tenant; `status` if there was an answer."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


class PermittedNetwork(httpcore.AsyncNetworkBackend):
    """Every connection of the pool begins here, after its address was looked at."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver, self._network = resolver, httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        address = await self._resolver.address(host, port)
        return await self._network.connect_tcp(
            address, port, timeout, local_address, socket_options
        )

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Poster:
    def __init__(self, allowed: Networks) -> None:
        self._resolver = Resolver(allowed)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=CONNECTIONS,
            keepalive_expiry=IDLE_S,
            network_backend=PermittedNetwork(self._resolver),
        )

    async def close(self) -> None:
        self._resolver.close()
        await self._pool.aclose()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """The status, if it is a 2xx; what the receiver says beside it is not read."""
        try:
            async with asyncio.timeout(WHOLE_S):
                status = await self._status(url, headers, body)
        except AddressRefused as refused:
            raise NotDelivered(f"{refused}.") from refused
        except (TimeoutError, httpcore.TimeoutException):
            raise NotDelivered(f"There was no answer within {WHOLE_S:.0f} s.") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise NotDelivered(f"It could not be reached: {error}.") from error
        if 200 <= status < 300:
            return status
        also = "; redirects are not followed" if 300 <= status < 400 else ""
        raise NotDelivered(f"It answered {status}{also}.", status)

    async def _status(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        said = [*headers.items(), ("content-length", str(len(body)))]
        async with self._pool.stream(
            "POST", url, headers=said, content=body, extensions={"timeout": _TIMEOUTS}
        ) as answer:
            return answer.status
