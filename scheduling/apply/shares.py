"""A piece of a plan as shares of its GPUs."""

from collections.abc import Iterator

from policies.contract.plan import Piece


def shares(piece: Piece) -> Iterator[tuple[int, int, int]]:
    """(GPU index, CPUs, MiB) per GPU of a piece; what does not divide goes to the first ones."""
    indexes = [index for index in range(64) if piece.gpus >> index & 1]
    for rank, index in enumerate(indexes):
        yield index, _part(piece.cpus, len(indexes), rank), _part(piece.mem_mib, len(indexes), rank)


def _part(total: int, parts: int, rank: int) -> int:
    return total // parts + (rank < total % parts)
