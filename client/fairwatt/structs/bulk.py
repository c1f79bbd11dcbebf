"""Many jobs in one request."""

from msgspec import Struct

from fairwatt.errors import Fault


class BulkProblem(Struct, frozen=True):
    """Why one job of many was refused."""

    code: str
    detail: str
    errors: list[Fault]


class BulkItem(Struct, frozen=True):
    """What became of one job of many."""

    index: int
    status: int
    id: int | None
    problem: BulkProblem | None


class BulkResult(Struct, frozen=True):
    """What became of many jobs; bad ones do not stop the others."""

    stored: int
    refused: int
    items: list[BulkItem]
