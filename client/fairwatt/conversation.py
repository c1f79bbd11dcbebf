"""A flow on its way: what it wants done next, and what it came to."""

from typing import Any, Generic, TypeVar

from fairwatt.call import Flow
from fairwatt.errors import Unreachable

R = TypeVar("R")


class Conversation(Generic[R]):
    """`proceed` takes what came of the last step, and gives the next; None when it is over."""

    result: R

    def __init__(self, flow: Flow[R]) -> None:
        self._flow = flow

    def proceed(self, outcome: Any) -> Any:
        try:
            if isinstance(outcome, Unreachable):
                return self._flow.throw(outcome)
            return self._flow.send(outcome)
        except StopIteration as end:
            self.result = end.value
            return None

    def close(self) -> None:
        self._flow.close()
