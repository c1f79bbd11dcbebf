"""A method of both clients at once, made of one description.

`operation` is for what is one call, `procedure` for what takes several, `stream` for what is
iterated. Asked of a `Client` they do it; asked of an `AsyncClient` they return what is awaited.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from fairwatt.call import Call, Flow, Stream
from fairwatt.retry import Rules, ask

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Asker(ABC):
    """What descriptions of calls may know of their client."""

    rules: Rules
    # Tried for longer: what is followed runs for hours, and may outlive a restart of the service.
    following: Rules
    cluster: str | None

    def ask(self, call: Call[R]) -> Flow[R]:
        return ask(call, self.rules)


class Blocking(Asker):
    """A client whose methods return when they are done."""

    @abstractmethod
    def run(self, flow: Flow[R]) -> R: ...

    @abstractmethod
    def play(self, flow: Stream[T]) -> Iterator[T]: ...


class Concurrent(Asker):
    """A client whose methods are awaited."""

    @abstractmethod
    async def run(self, flow: Flow[R]) -> R: ...

    @abstractmethod
    def play(self, flow: Stream[T]) -> AsyncIterator[T]: ...


class _Described(Generic[P, R]):
    """What `operation`, `procedure` and `stream` share: a name, a docstring, a signature."""

    def __init__(self, describe: Callable[Concatenate[Any, P], R]) -> None:
        self.describe = describe
        update_wrapper(self, describe)  # type: ignore[arg-type]  # it is shown like the function

    def bound(self, perform: Callable[[R], Any], client: Asker) -> Callable[P, Any]:
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return perform(self.describe(client, *args, **kwargs))

        return update_wrapper(method, self.describe)


class operation(_Described[P, Call[R]]):  # noqa: N801 - used as a decorator
    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, client: Concurrent, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self
        return self.bound(lambda call: client.run(client.ask(call)), client)


class procedure(_Described[P, Flow[R]]):  # noqa: N801 - used as a decorator
    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, client: Concurrent, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        return self if client is None else self.bound(client.run, client)


class stream(_Described[P, Stream[T]]):  # noqa: N801 - used as a decorator
    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Concurrent, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        return self if client is None else self.bound(client.play, client)
