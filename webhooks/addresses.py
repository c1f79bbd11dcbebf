"""Which addresses a webhook may reach: public ones, and what the operator has named.

A name is looked up once, and the connection goes to the very address that was looked at: a name
that says something else a moment later gains nothing.
"""

import asyncio
import socket
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import cast

Address = IPv4Address | IPv6Address
Networks = Collection[IPv4Network | IPv6Network]

NAT64 = IPv6Network("64:ff9b::/96")
# Lookups cannot be interrupted; a name server that never answers holds no more than these.
LOOKUPS = 8


class AddressRefused(Exception):
    """No connection was made."""


def permitted(address: Address, allowed: Networks) -> bool:
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address):
        inner = _inside(address)
        return permitted(inner, allowed) if inner is not None else _public(address)
    return _public(address)


def _public(address: Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _inside(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that some IPv6 addresses are a way to."""
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]


def literal(host: str) -> Address | None:
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


class Resolver:
    def __init__(self, allowed: Networks) -> None:
        self._allowed = allowed
        self._threads = ThreadPoolExecutor(LOOKUPS, "webhook-names")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def address(self, host: str, port: int) -> str:
        """The first address of the name that may be reached."""
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, _looked_up, host, port
        )
        for text in found:
            if permitted(ip_address(text.partition("%")[0]), self._allowed):
                return text
        raise AddressRefused(f"{host} is at no public address")


def _looked_up(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefused(f"{host} has no address") from error
    return [cast("str", where[0]) for *_, where in found]
