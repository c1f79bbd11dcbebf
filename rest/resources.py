"""One declaration for a named resource that services read and write."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone

from rest.structs import given
from rest.views import (
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
)

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Services:
    """How rows of one kind are read and written, over HTTP and in the admin alike.

    `values` and `changes` hold what was given; each write records its audit row.
    """

    read: Callable[[Any], QuerySet[Any]]
    create: Callable[[Any, Values], Any]
    update: Callable[[Any, Any, Values, datetime], Any]
    delete: Callable[[Any, Any], None]


class NamedResource(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Rights follow from the resource's name, unless the class says others."""

    services: ClassVar[Services]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "resource" in vars(cls):
            cls.rights = {**crud_rights(cls.resource), **vars(cls).get("rights", {})}

    def rows(self) -> QuerySet[Any]:
        return self.services.read(self.caller)

    def perform_create(self, values: Any) -> Any:
        return self.services.create(self.caller, given(values))

    def perform_update(self, row: Any, changes: Values) -> Any:
        return self.services.update(self.caller, row, changes, timezone.now())

    def perform_destroy(self, row: Any) -> None:
        self.services.delete(self.caller, row)
