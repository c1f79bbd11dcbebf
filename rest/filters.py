"""Query parameters, strictly: an unknown name or a bad value is refused, never ignored."""

import re
from collections.abc import Mapping
from typing import Any

import django_filters
from django import forms
from django.db.models import QuerySet
from django_filters.constants import EMPTY_VALUES
from rest_framework.exceptions import ValidationError
from rest_framework.filters import BaseFilterBackend
from rest_framework.request import Request

from rest import fields
from rest.pagination import PARAMETERS
from rest.problems import Fault, Invalid


class _StrictField(forms.Field):
    """Parses a query text with the same strict field a body would use."""

    def __init__(self, *, reader: Any, **kwargs: Any) -> None:
        self.reader = reader
        kwargs.pop("max_length", None)
        super().__init__(**kwargs)

    def clean(self, value: Any) -> Any:
        if value is None:
            return None
        try:
            return self.reader(value)
        except (ValueError, ValidationError) as error:
            detail = error.detail[0] if isinstance(error, ValidationError) else str(error)  # type: ignore[index]
            raise forms.ValidationError(str(detail), code="invalid") from None


class Filter(django_filters.Filter):  # type: ignore[misc]
    """Base of our filters; `schema` is what the OpenAPI document says and the reader enforces."""

    field_class = _StrictField
    schema: Mapping[str, Any] = {}

    def __init__(self, field_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(field_name, reader=self.read, **kwargs)

    def read(self, text: str) -> Any:
        raise NotImplementedError

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value in EMPTY_VALUES:
            return qs
        found: QuerySet[Any] = self.get_method(qs)(
            **{f"{self.field_name}__{self.lookup_expr}": value}
        )
        return found


class IntegerFilter(Filter):
    schema = {"type": "integer", "minimum": 0, "maximum": fields.INT64_MAX, "format": "int64"}

    def read(self, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > fields.INT64_MAX:
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
    _reader = fields.Instant()

    def read(self, text: str) -> Any:
        return self._reader.run_validation(text)


class TextFilter(Filter):
    schema = {"type": "string", "minLength": 1, "maxLength": 200}

    def read(self, text: str) -> str:
        if not 1 <= len(text) <= 200:
            raise ValueError("Must be 1 to 200 characters.")
        return text


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


class FilterSet(django_filters.FilterSet):  # type: ignore[misc]
    """Declare filters of this module on it; Meta is not needed."""


class StrictFilterBackend(BaseFilterBackend):
    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        filterset_class = getattr(view, "filterset_class", None)
        if filterset_class is None:
            return queryset
        filterset = filterset_class(request.query_params, queryset=queryset, request=request)
        if not filterset.is_valid():
            raise Invalid(
                "A query parameter has a value it cannot have.",
                errors=[
                    Fault(f"?{name}", str(error.code or "invalid"), str(error.messages[0]))
                    for name, listed in filterset.form.errors.as_data().items()
                    for error in listed
                ],
            )
        return filterset.qs

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": str(declared.extra.get("help_text", "")),
                "schema": dict(declared.schema),
            }
            for name, declared in _declared(view).items()
        ]


def _declared(view: Any) -> dict[str, Any]:
    filterset_class = getattr(view, "filterset_class", None)
    return dict(filterset_class.base_filters) if filterset_class else {}


def refuse_unknown_parameters(request: Request, view: Any, action: str) -> None:
    """Every name must be known and given once."""
    if not request.META.get("QUERY_STRING"):
        return
    known = [*view.query_parameters.get(action, {})]
    if action == "list":
        known += [*_declared(view), *PARAMETERS]
    for name, values in request.query_params.lists():
        if name not in known:
            detail = f"There is no parameter {name!r}; known are: {', '.join(known) or 'none'}."
            raise Invalid.at(f"?{name}", "unknown_parameter", detail)
        if len(values) > 1:
            raise Invalid.at(f"?{name}", "repeated_parameter", "Give each parameter once.")


def read_parameters(request: Request, declared: Mapping[str, Filter]) -> dict[str, Any]:
    """The values of the parameters that were given."""
    read = {}
    for name, known in declared.items():
        if name in request.query_params:
            try:
                read[name] = known.field.clean(request.query_params[name])
            except forms.ValidationError as error:
                raise Invalid.at(f"?{name}", "invalid", error.messages[0]) from None
    return read
