"""One node per single value of a struct: how it is checked, published, shown and exemplified."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from rest.pointers import pointer
from rest.problems import Fault
from rest.structs.rules import Rule, Schema, Unfit

Path = tuple[str | int, ...]
Change = Callable[[Any], Any]
# Names a struct's component and gives the reference to it.
Refer = Callable[[Any], Schema]
MISSING: Any = object()
_INT32_MAX = 2**31 - 1


class ShapeNode:
    """`said` is what the declaration adds for the reader: description and examples."""

    def __init__(self, said: Schema | None = None) -> None:
        said = dict(said or {})
        examples = said.pop("examples", None) or [MISSING]
        self.own_example: Any = examples[0]
        self.said = said

    def preparer(self, *, integers: bool) -> Change | None:
        """What must be done to a value before msgspec may convert it; None if nothing."""
        return None

    def shower(self) -> Change | None:
        """What must be done to a value that is not null before it is shown; None if nothing."""
        return None

    def faults(self, value: Any, path: Path) -> Iterator[Fault]:
        try:
            self.check(value)
        except Unfit as unfit:
            yield Fault(pointer(path), unfit.code, unfit.detail)

    def check(self, value: Any) -> None:
        """Raise Unfit for the first thing that is wrong with one value."""

    def schema(self, refer: Refer) -> Schema:
        return {**self.bare_schema(refer), **self.said}

    def bare_schema(self, refer: Refer) -> Schema:
        return {}

    def example(self) -> Any:
        return self.bare_example() if self.own_example is MISSING else self.own_example

    def bare_example(self) -> Any:
        return None

    @property
    def has_example(self) -> bool:
        return self.own_example is not MISSING


class AnyNode(ShapeNode):
    def bare_example(self) -> Any:
        return {}


class NumberNode(ShapeNode):
    """A number, whole or not, between the bounds of its Meta."""

    def __init__(self, bounds: Any, *, whole: bool, said: Schema | None = None) -> None:
        super().__init__(said)
        self.whole = whole
        self.ge, self.gt, self.le, self.lt = bounds.ge, bounds.gt, bounds.le, bounds.lt

    def preparer(self, *, integers: bool) -> Change | None:
        return _integral if integers and self.whole else None

    def shower(self) -> Change | None:
        return int if self.whole else float

    def check(self, value: Any) -> None:
        if self.whole and type(_integral(value)) is not int:
            raise Unfit("invalid", "Must be a whole number.")
        if type(value) not in {int, float} or not _is_finite(value):
            raise Unfit("invalid", "Must be a number.")
        if self.ge is not None and value < self.ge:
            raise Unfit("min_value", f"Must be at least {self.ge}.")
        if self.gt is not None and value <= self.gt:
            raise Unfit("min_value", f"Must be above {self.gt}.")
        if self.le is not None and value > self.le:
            raise Unfit("max_value", f"Must be at most {self.le}.")
        if self.lt is not None and value >= self.lt:
            raise Unfit("max_value", f"Must be below {self.lt}.")

    def bare_schema(self, refer: Refer) -> Schema:
        schema: Schema = {"type": "integer" if self.whole else "number"}
        low, high = _first(self.ge, self.gt), _first(self.le, self.lt)
        if low is not None:
            schema["minimum"] = low
        if self.gt is not None:
            schema["exclusiveMinimum"] = True
        if high is not None:
            schema["maximum"] = high
        if self.lt is not None:
            schema["exclusiveMaximum"] = True
        if self.whole and max(abs(low or 0), abs(high or 0)) > _INT32_MAX:
            schema["format"] = "int64"
        return schema

    def bare_example(self) -> Any:
        number = max(1, self.ge or 0) if self.gt is None else self.gt + 1
        return int(number) if self.whole else float(number)


def _integral(value: Any) -> Any:
    """JSON Schema counts 2.0 as an integer, msgspec does not; nearly nobody writes it."""
    return int(value) if type(value) is float and value.is_integer() else value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        # A whole number of more digits than a float has is as finite as any; bounds refuse it.
        return True


def _first(*bounds: Any) -> Any:
    return next((bound for bound in bounds if bound is not None), None)


class BooleanNode(ShapeNode):
    def check(self, value: Any) -> None:
        if type(value) is not bool:
            raise Unfit("invalid", "Must be true or false.")

    def bare_schema(self, refer: Refer) -> Schema:
        return {"type": "boolean"}

    def bare_example(self) -> Any:
        return False


class TextNode(ShapeNode):
    def __init__(self, bounds: Any, said: Schema | None = None) -> None:
        super().__init__(said)
        self.min_length, self.max_length = bounds.min_length, bounds.max_length
        self.pattern = self.said.pop("pattern", bounds.pattern)
        self._search = re.compile(bounds.pattern).search if bounds.pattern else None

    def check(self, value: Any) -> None:
        if type(value) is not str:
            raise Unfit("invalid", "Must be a text.")
        if not value and self.min_length:
            raise Unfit("blank", "May not be empty.")
        if self.min_length is not None and len(value) < self.min_length:
            raise Unfit("min_length", f"Must have at least {self.min_length} characters.")
        if self.max_length is not None and len(value) > self.max_length:
            raise Unfit("max_length", f"May have at most {self.max_length} characters.")
        if self._search and not self._search(value):
            raise Unfit("pattern", f"Must match {self.pattern}.")

    def bare_schema(self, refer: Refer) -> Schema:
        bounds = {"minLength": self.min_length, "maxLength": self.max_length}
        schema = {**bounds, "pattern": self.pattern}
        return {"type": "string", **{name: v for name, v in schema.items() if v is not None}}

    def bare_example(self) -> Any:
        return "text"


class ChoiceNode(ShapeNode):
    """One out of a list; a list with a name is published once, as a component of that name."""

    def __init__(
        self, values: list[str], said: Schema | None = None, *, component_name: str = ""
    ) -> None:
        super().__init__(said)
        self.values = values
        self.component_name = component_name

    def check(self, value: Any) -> None:
        if not isinstance(value, str) or value not in self.values:
            raise Unfit("invalid_choice", f"Must be one of {', '.join(self.values)}.")

    def schema(self, refer: Refer) -> Schema:
        if not self.component_name:
            return {**self.component(refer), **self.said}
        reference = refer(self)
        return {"allOf": [reference], **self.said} if self.said else reference

    def component(self, refer: Refer) -> Schema:
        return {"type": "string", "enum": self.values}

    def bare_example(self) -> Any:
        return self.values[0]


class RuledNode(ShapeNode):
    """A value with a rule of ours."""

    def __init__(self, rule: Rule, said: Schema | None = None) -> None:
        super().__init__(said)
        self.rule = rule

    def preparer(self, *, integers: bool) -> Change | None:
        return self.rule.read

    def shower(self) -> Change | None:
        return self.rule.show

    def check(self, value: Any) -> None:
        self.rule.read(value)

    def bare_schema(self, refer: Refer) -> Schema:
        return dict(self.rule.schema)

    def bare_example(self) -> Any:
        return {} if self.rule.schema["type"] == "object" else "1"
