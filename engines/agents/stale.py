"""The two refusals an agent acts upon: the node, or an attempt, is another's now."""

from collections.abc import Sequence

from msgspec.structs import asdict

from agent.wire import AttemptRef, Code
from rest.problems import Conflict


class StaleEpoch(Conflict):
    code = Code.STALE_EPOCH

    def __init__(self) -> None:
        super().__init__("Another agent has registered as this node; stop everything and leave.")


class StaleFences(Conflict):
    code = Code.STALE_FENCE

    def __init__(self, stale: Sequence[AttemptRef]) -> None:
        super().__init__(
            "Some attempts are no longer this node's; kill the ones in `stale`.",
            extensions={"stale": [asdict(ref) for ref in stale]},
        )
