"""The memory of jobs that name none: what one GPU has of the smallest node they may use."""

import numpy as np
import numpy.typing as npt

from scheduling.snapshot.copy_read import Rows

UNSAID = -1


def memory_mib_per_gpu(jobs: Rows, nodes: Rows, kind: npt.NDArray[np.int64]) -> Rows:
    """`kind` is every node's row among the GPU types; without a node that fits it is no limit."""
    asked = jobs["mem_mib_per_gpu"].astype(np.int64)
    unsaid = asked == UNSAID
    if not unsaid.any():
        return asked
    share = nodes["mem_mib"] // np.maximum(nodes["gpus"], 1)
    columns = np.stack([jobs["partition"][unsaid], jobs["gpu_types"][unsaid]]).astype(np.int64)
    distinct, which = np.unique(columns, axis=1, return_inverse=True)
    shares = [_least(share, nodes, kind, *column) for column in distinct.T.tolist()]
    asked[unsaid] = np.array(shares, np.int64)[which.reshape(-1)]
    return asked


def _least(
    share: Rows, nodes: Rows, kind: npt.NDArray[np.int64], partition: int, types: int
) -> int:
    fits = (types >> kind) & 1 == 1
    here = fits & (nodes["partition"] == partition) & (nodes["gpus"] > 0)
    return int(share[here].min()) if here.any() else 0
