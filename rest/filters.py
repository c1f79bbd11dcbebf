"""Query parameters, strictly: an unknown name or a bad value is refused, never ignored."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from rest.pagination import PARAMETERS
from rest.problems import Fault, Invalid
from rest.structs.rules import InstantRule, Unfit
from rest.structs.types import INT64_MAX

INSTANT = InstantRule()


class Filter(ABC):
    """Base of our filters; `schema` is what the OpenAPI document says and the reader enforces."""

    schema: Mapping[str, Any] = {}

    def __init__(
        self,
        field_name: str | None = None,
        lookup_expr: str = "exact",
        *,
        exclude: bool = False,
        required: bool = False,
        help_text: str = "",
    ) -> None:
        """The column is that of the parameter's own name, unless `field_name` names another."""
        self.field_name, self.lookup_expr = field_name or "", lookup_expr
        self.exclude, self.required, self.help_text = exclude, required, help_text

    def __set_name__(self, owner: type, name: str) -> None:
        self.field_name = self.field_name or name

    @abstractmethod
    def read(self, text: str) -> Any:
        """The value that the text says, or ValueError."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        wanted = {f"{self.field_name}__{self.lookup_expr}": value}
        return qs.exclude(**wanted) if self.exclude else qs.filter(**wanted)


class IntegerFilter(Filter):
    schema = {"type": "integer", "minimum": 0, "maximum": INT64_MAX, "format": "int64"}

    def read(self, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > INT64_MAX:
            raise ValueError("Must be a whole number.")
        return int(text)


class NumberFilter(Filter):
    schema = {"type": "number", "minimum": 0, "maximum": 1e9}

    def read(self, text: str) -> float:
        if not re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,9})?", text) or float(text) > 1e9:
            raise ValueError("Must be a number from 0 to 1000000000.")
        return float(text)


class BooleanFilter(Filter):
    schema = {"type": "boolean"}

    def read(self, text: str) -> bool:
        if text not in {"true", "false"}:
            raise ValueError("Must be true or false.")
        return text == "true"


class InstantFilter(Filter):
    schema = {"type": "string", "format": "date-time"}

    def read(self, text: str) -> Any:
        try:
            return INSTANT.read(text)
        except Unfit as unfit:
            raise ValueError(unfit.detail) from None


class TextFilter(Filter):
    schema = {"type": "string", "minLength": 1, "maxLength": 200}

    def read(self, text: str) -> str:
        if not 1 <= len(text) <= 200:
            raise ValueError("Must be 1 to 200 characters.")
        return text


class ListFilter(Filter):
    """One value, or several with commas between them: any of them will do."""

    item: Filter
    most = 1000

    def __init__(self, item: Filter, **kwargs: Any) -> None:
        self.item = item
        self.schema = {"type": "array", "items": dict(item.schema), "maxItems": self.most}
        super().__init__(item.field_name, "in", **kwargs)

    def read(self, text: str) -> list[Any]:
        values = text.split(",")
        if len(values) > self.most:
            raise ValueError(f"At most {self.most} at once.")
        return [self.item.read(value) for value in values]


class ChoiceFilter(Filter):
    def __init__(self, choices: Any, **kwargs: Any) -> None:
        """`choices` is a TextChoices class or a list of texts."""
        self.values = list(getattr(choices, "values", choices))
        self.schema = {"type": "string", "enum": self.values}
        super().__init__(**kwargs)

    def read(self, text: str) -> str:
        if text not in self.values:
            raise ValueError(f"Must be one of {', '.join(self.values)}.")
        return text


def named(filters: Mapping[str, Filter]) -> Mapping[str, Filter]:
    """Each filters the column of its own name, unless it names another."""
    for name, known in filters.items():
        known.field_name = known.field_name or name
    return filters


def filtered(rows: QuerySet[Any], request: Request, filters: Mapping[str, Filter]) -> QuerySet[Any]:
    faults: list[Fault] = []
    for name, known in filters.items():
        if name in request.query_params:
            try:
                value = known.read(request.query_params[name])
            except ValueError as error:
                faults.append(Fault(f"?{name}", "invalid", str(error)))
            else:
                rows = known.filter(rows, value)
    if faults:
        raise Invalid("A query parameter has a value it cannot have.", errors=faults)
    return rows


def refuse_unknown_parameters(request: Request, known: list[str]) -> None:
    """Every name must be known and given once."""
    for name, values in request.query_params.lists():
        if name not in known:
            detail = f"There is no parameter {name!r}; known are: {', '.join(known) or 'none'}."
            raise Invalid.at(f"?{name}", "unknown_parameter", detail)
        if len(values) > 1:
            raise Invalid.at(f"?{name}", "repeated_parameter", "Give each parameter once.")


def known_parameters(view: Any, action: str) -> list[str]:
    known = [*view.query_parameters.get(action, {})]
    return [*known, *view.list_filters(), *PARAMETERS] if action == "list" else known


def read_parameters(request: Request, declared: Mapping[str, Filter]) -> dict[str, Any]:
    """The values of the parameters that were given."""
    read = {}
    for name, known in declared.items():
        if name in request.query_params:
            try:
                read[name] = known.read(request.query_params[name])
            except ValueError as error:
                raise Invalid.at(f"?{name}", "invalid", str(error)) from None
    return read
