"""What the admin pages of the machines share."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import models, transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextInputWidget

from clusters.admin.forms import REFUSALS, ServiceForm
from rest.problems import problem_from
from tenancy.admin import caller_of
from tenancy.callers import Caller

Values = Mapping[str, Any]


class ServiceAdmin(ModelAdmin):  # type: ignore[misc]
    """Pages whose every write is a call of a service; a subclass names the three."""

    form = ServiceForm
    formfield_overrides = {models.TextField: {"widget": UnfoldAdminTextInputWidget}}
    fixed_fields: tuple[str, ...] = ()
    list_filter_submit = True
    warn_unsaved_form = True

    def perform_create(self, caller: Caller, values: Values) -> Model:
        raise NotImplementedError

    def perform_update(self, caller: Caller, row: Any, changes: Values) -> Model:
        raise NotImplementedError

    def perform_delete(self, caller: Caller, row: Any) -> None:
        raise NotImplementedError

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """`fixed_fields` are chosen once, when the row is made."""
        fixed = self.fixed_fields if obj else ()
        return (*super().get_readonly_fields(request, obj), *fixed)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and (db_field.null or db_field.has_default()):
            field.required = False
            # What changed is judged by the row, not by a copy that travelled through the browser.
            field.show_hidden_initial = False
        return field

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[ServiceForm]:
        form: type[ServiceForm] = super().get_form(request, obj, change, **kwargs)
        form.write = staticmethod(lambda filled: self._write(request, filled))
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.pk = self._write(request, form).pk

    def _write(self, request: HttpRequest, form: ServiceForm) -> Model:
        caller, values = caller_of(request), form.values()
        if form.instance.pk is None:
            given = {name: value for name, value in values.items() if value is not None}
            return self.perform_create(caller, given)
        row: Model = self.model._default_manager.get(pk=form.instance.pk)
        changes = {name: values[name] for name in form.changed_data if name in values}
        return self.perform_update(caller, row, changes) if changes else row

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.perform_delete(caller_of(request), obj)

    def delete_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        try:
            answer: HttpResponse = super().delete_view(request, object_id, extra_context)
        except REFUSALS as error:
            self.message_user(request, problem_from(error).text, messages.ERROR)
            return redirect("..")
        return answer

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Lists what goes along; whether it may is the service's to say, also of hours and GPUs."""
        listed, counts, _, _ = super().get_deleted_objects(objs, request)
        return listed, counts, set(), []

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Rows are deleted one by one, each with its own confirmation."""
        actions: dict[str, Any] = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def for_each(
        self, request: HttpRequest, queryset: QuerySet[Any], what: str, write: Any
    ) -> None:
        """Write each chosen row by itself: one that refuses does not keep the others from it."""
        done = 0
        for row in queryset:
            try:
                with transaction.atomic():
                    write(row)
                done += 1
            except REFUSALS as error:
                text = f"{row}: {problem_from(error).text}"
                self.message_user(request, text, messages.ERROR)
        if done:
            self.message_user(request, f"{what}: {done}.", messages.SUCCESS)
