"""Two jobs change places when one gets more CPUs or memory by it and the other loses nothing."""

from collections.abc import Callable, Sequence

from policies.bench.shares.needs import Share, SharePoint
from policies.bench.shares.share_ledger import Holding, ShareLedger
from policies.contract.columns import Bool


def exchange(
    book: ShareLedger,
    holdings: Sequence[Holding],
    movable: Bool,
    target: Callable[[Holding], Share],
    *,
    pays: Callable[[Holding, SharePoint, Holding], bool] | None = None,
) -> None:
    """For those below their target; every exchange raises the total speed, and none moves twice.

    `pays` says whether getting a point is worth it to move both.
    """
    moved: set[int] = set()
    for holding in [s for s in holdings if s.share != target(s) and len(s.pieces) == 1]:
        if not movable[holding.row] or holding.row in moved:
            continue
        speed = holding.needs.speed
        now, most = speed(holding.share), speed(target(holding))
        for point in holding.needs.points:
            if point.speed <= now:
                break
            if point.speed > most:
                continue
            other = _partner(book, holding, point.share, movable, moved)
            if other is not None and (pays is None or pays(holding, point, other)):
                book.swap(holding, point.share, other)
                moved |= {holding.row, other.row}
                break


def _partner(
    book: ShareLedger, holding: Holding, share: Share, movable: Bool, moved: set[int]
) -> Holding | None:
    """Of those who would do, the one whose node is left with the fewest CPUs."""
    ((home, _, has_cpus, has_mem),) = holding.pieces
    ledger, cpus, mem_mib = book.ledger, share.cpus * holding.gpus, share.mem_mib * holding.gpus
    spare_cpus, spare_mem = ledger.cpus[home] + has_cpus, ledger.mem_mib[home] + has_mem
    best: tuple[int, Holding] | None = None
    for node in ledger.alike(home):
        if (
            node == home
            or ledger.cpus[node] + spare_cpus < cpus
            or ledger.mem_mib[node] + spare_mem < mem_mib
        ):
            continue
        for other in book.on_node[node]:
            left = ledger.cpus[node] + other.share.cpus * other.gpus - cpus
            if left < 0 or (best is not None and best[0] <= left):
                continue
            if (
                other.gpus == holding.gpus
                and len(other.pieces) == 1
                and ledger.mem_mib[node] + other.pieces[0][3] >= mem_mib
                and other.pieces[0][2] <= spare_cpus
                and other.pieces[0][3] <= spare_mem
                and movable[other.row]
                and other.row not in moved
            ):
                best = left, other
    return None if best is None else best[1]
