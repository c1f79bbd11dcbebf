"""Lists, which the service gives page by page."""

from typing import Any, Generic, TypeVar

from msgspec import Struct

from fairwatt.call import Flow, Item, Stream, get
from fairwatt.errors import FairwattError
from fairwatt.retry import Rules, ask

T = TypeVar("T")
FIRST_PAGE, PAGE = 25, 1000


class Page(Struct, Generic[T]):
    """A part of a list; `next` asks for the part that follows."""

    items: list[T]
    next: str | None


def all_pages(rules: Rules, path: str, page: type[Page[T]], query: dict[str, Any]) -> Stream[T]:
    """Item after item; the first page is short, so that the first item comes at once."""
    cursor: str | None = None
    while True:
        size = PAGE if cursor else FIRST_PAGE
        call = get(path, page, **{**query, "limit": size, "cursor": cursor})
        found = yield from ask(call, rules)
        for item in found.items:
            yield Item(item)
        cursor = found.next
        if cursor is None:
            return


def named(rules: Rules, path: str, page: type[Page[T]], name: str) -> Flow[T]:
    """The one with that name; those there are, if none has it."""
    found = yield from ask(get(path, page, name=name, limit=1), rules)
    if found.items:
        return found.items[0]
    others = yield from ask(get(path, page, limit=50), rules)
    names = ", ".join(sorted(str(getattr(other, "name", "")) for other in others.items))
    what = path.strip("/").removesuffix("s")
    raise FairwattError(f"There is no {what} {name!r}.", f"There are: {names or 'none'}.")
