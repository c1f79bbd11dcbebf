"""One declaration for a named resource that services read and write."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone

from rest.services import Services, Values
from rest.structs import given
from rest.views import (
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
)


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
