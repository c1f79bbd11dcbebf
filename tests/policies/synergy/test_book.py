"""The book of holdings: what is free and what could be taken back, as jobs come and go."""

from policies.bench.ledger import Ledger
from policies.bench.placement import pack
from policies.bench.shares.job_shares import JobShares
from policies.bench.shares.needs_table import NeedsTable
from policies.bench.shares.share_ledger import ShareLedger
from policies.contract.snapshot import JobState
from tests.policies.synergy.tables import IMAGE, LANGUAGE, seen
from tests.policies.worlds import Job, Node, World


def test_a_job_that_leaves_is_nobody_to_take_from_and_may_come_back() -> None:
    """Six of nine CPUs are beyond the first one's modest share; the second has what it needs."""
    jobs = [
        Job(1, [(0, 0b01, 9, 1000)], JobState.RUNNING, columns={"profile": IMAGE}),
        Job(1, [(0, 0b10, 1, 500)], JobState.RUNNING, columns={"profile": LANGUAGE}),
    ]
    snapshot = seen(World([Node(gpus=4, cpus=12, mem_mib=4000)], jobs))
    ledger = Ledger(snapshot, pack)
    book, holdings = ShareLedger(ledger), JobShares(snapshot, NeedsTable(snapshot)).residents()
    for holding in holdings:
        book.sit(holding)
    assert (book.cpus_within_reach, book.mem_within_reach) == ([2 + 6], [2500])
    ledger.give(holdings[0].pieces)
    book.leave(holdings[0])
    assert (book.cpus_within_reach, book.mem_within_reach) == ([11], [3500])
    assert book.on_node == [[holdings[1]]]
    ledger.take(holdings[0].pieces)
    book.take(holdings[0])
    assert (book.cpus_within_reach, book.mem_within_reach) == ([2 + 6], [2500])
    assert holdings[0] in book.on_node[0]
