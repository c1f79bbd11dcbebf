"""Everything that can go wrong, each with what to do next.

Whatever the service refuses comes as a problem (RFC 9457); its code, pointers and request id are
kept, so that a program can decide by them and a person can quote them.
"""

from collections.abc import Sequence

from msgspec import DecodeError, Struct, ValidationError, json

from fairwatt.hints import next_step_of


class Fault(Struct, frozen=True):
    """One thing wrong: `pointer` leads into the body (`/gpus`), `?name` into the query."""

    pointer: str = ""
    code: str = ""
    detail: str = ""


class Problem(Struct, frozen=True):
    """The document in which the service refuses."""

    status: int
    code: str
    detail: str = ""
    request_id: str = ""
    errors: Sequence[Fault] = ()


class FairwattError(Exception):
    """`str()` is one sentence; `next_step` says what to do about it."""

    def __init__(self, sentence: str, next_step: str = "") -> None:
        super().__init__(sentence)
        self.next_step = next_step


class Unreachable(FairwattError):
    """No answer: nobody listens there, the name is unknown, or the network is away."""


class NotFairwatt(FairwattError):
    """Something answers at that address, but it is not this API."""


class ServerTooOld(FairwattError):
    """The service does not know what this client asks for, or answers in another shape."""


class WaitedTooLong(FairwattError):
    """What was waited for did not happen in the time given; it may still."""


class JobFailed(FairwattError):
    """A job that was waited for ended otherwise than well."""

    def __init__(self, job_id: int, state: str, reason: str) -> None:
        super().__init__(
            f"Job {job_id} {state}: {reason}.",
            f"See `fairwatt logs {job_id}` and `fairwatt why {job_id}`.",
        )
        self.job_id, self.state, self.reason = job_id, state, reason


class Refused(FairwattError):
    """The service said no: `status`, `code`, `faults` with pointers, and `request_id`."""

    def __init__(self, problem: Problem) -> None:
        self.status, self.code, self.request_id = problem.status, problem.code, problem.request_id
        self.detail, self.faults = problem.detail, tuple(problem.errors)
        super().__init__(_sentence(problem), next_step_of(problem.code, problem.status))


class Invalid(Refused):
    """400 or 422: the values break the schema, or contradict each other."""


class NotLoggedIn(Refused):
    """401: no token, or one that is wrong, expired or revoked."""


class Forbidden(Refused):
    """403: the token's role may not do this, or the tenant is suspended."""


class NotFound(Refused):
    """404: there is no such thing, or it is another tenant's."""


class Conflict(Refused):
    """409: well formed, but the present state refuses it."""


class Stale(Refused):
    """412, 428: somebody changed it since it was read."""


class Throttled(Refused):
    """429: over the caller's budget, also after waiting as long as it was told to."""


class ServiceFault(Refused):
    """5xx: the fault is on the other side."""


_KINDS: dict[int, type[Refused]] = {
    400: Invalid,
    401: NotLoggedIn,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Stale,
    422: Invalid,
    428: Stale,
    429: Throttled,
}


def refusal(status: int, body: bytes) -> Refused | None:
    """The exception of an answer; None where the body is no problem document."""
    try:
        problem = json.decode(body, type=Problem)
    except (DecodeError, ValidationError):
        return None
    return _KINDS.get(status, ServiceFault if status >= 500 else Refused)(problem)


def _sentence(problem: Problem) -> str:
    """Where the whole says no more than its one fault, the fault is enough."""
    faults = [f"{fault.pointer or 'body'}: {fault.detail}" for fault in problem.errors]
    if len(faults) == 1:
        return faults[0]
    return " ".join([problem.detail, *(f"[{fault}]" for fault in faults[:5])])
