"""Sets as whole numbers: bit i set means that i is a member."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from policies.contract.columns import I64

# A node of 8 GPUs has at most 256 masks; wider ones have too many to remember all.
MASKS = 1 << 16


def members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def set_of(rows: I64) -> int:
    there = np.zeros(int(rows.max(initial=-1)) + 1, np.bool_)
    there[rows] = True
    return int.from_bytes(np.packbits(there, bitorder="little").tobytes(), "little")


def lowest_bits(bits: int, count: int) -> int:
    """The `count` lowest members of `bits`."""
    if count == 1:
        return bits & -bits
    rest = bits
    for _ in range(count):
        rest &= rest - 1
    return bits ^ rest


@lru_cache(MASKS)
def buddy_blocks(free: int, width: int) -> tuple[tuple[int, int], ...]:
    """The largest free aligned blocks of a node of `width` GPUs, as (order, first GPU).

    A block of order k has 2**k GPUs, fewer where the node ends inside it.
    """
    there = (1 << width) - 1

    def split(order: int, first: int) -> tuple[tuple[int, int], ...]:
        block = (((1 << (1 << order)) - 1) << first) & there
        if not free & block:
            return ()
        if free & block == block:
            return ((order, first),)
        half = 1 << (order - 1)
        return split(order - 1, first) + split(order - 1, first + half)

    return split((width - 1).bit_length(), 0) if width else ()


@lru_cache(MASKS)
def buddy_orders(free: int, width: int) -> int:
    """The set of orders for which the node has a free block."""
    orders = 0
    for order, _ in buddy_blocks(free, width):
        orders |= 1 << order
    return orders


@lru_cache(MASKS)
def buddy_take(free: int, width: int, count: int) -> int:
    """`count` GPUs from the smallest block that holds them; 0 when no block does."""
    fitting = [
        (order, first)
        for order, first in buddy_blocks(free, width)
        if min(1 << order, width - first) >= count
    ]
    return ((1 << count) - 1) << min(fitting)[1] if fitting else 0
