"""Kinds of query parameters that lists of the work need beside those of rest.filters."""

from typing import Any

from django.db.models import Model, QuerySet

from jobs.models import Profile
from rest.filters import IntegerFilter, TextFilter


class NamedFilter(TextFilter):
    """A reference by its name. The id is looked up first: the planner knows how rare an id is."""

    def __init__(self, model: type[Model], field_name: str) -> None:
        self.named: Any = model
        super().__init__(field_name)

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        found = self.named.objects.filter(name=value).values_list("pk", flat=True).first()
        return qs.none() if found is None else qs.filter(**{str(self.field_name): found})


class ProfileFilter(TextFilter):
    """By name, which several tenants may have given."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        found = list(Profile.objects.filter(name=value).values_list("pk", flat=True))
        return qs.filter(profile__in=found)


class LabelFilter(TextFilter):
    """One label with its value, as in `team=vision`."""

    schema = {"type": "string", "pattern": "^[^=]+=", "maxLength": 300, "example": "team=vision"}

    def read(self, text: str) -> str:
        if not text.partition("=")[0] or "=" not in text or len(text) > 300:
            raise ValueError("Write a label and its value, as in team=vision.")
        return text

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        name, _, wanted = value.partition("=")
        return qs.filter(**{f"{self.field_name}__contains": {name: wanted}})


class BoundedFilter(IntegerFilter):
    """A whole number from 1 to `most`."""

    def __init__(self, most: int, default: int, **kwargs: Any) -> None:
        self.most, self.default = most, default
        self.schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
        super().__init__(**kwargs)

    def read(self, text: str) -> int:
        number = super().read(text)
        if not 1 <= number <= self.most:
            raise ValueError(f"Must be 1 to {self.most}.")
        return number


LIMIT = BoundedFilter(1000, 100)


ROUNDS = BoundedFilter(1000, 100)
