"""Bases of admin pages: rows that services write, rows that services move, rows to read."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import messages
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from unfold.admin import ModelAdmin, TabularInline
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminTextInputWidget

from rest.admin.forms import REFUSALS, ServiceForm
from rest.problems import problem_from
from rest.services import Services, Values


class PageList(ChangeList):  # type: ignore[misc]
    """The rows of one page of a list, completed before they are shown."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        self.model_admin.complete(self.result_list)


class ActingAdmin(ModelAdmin):  # type: ignore[misc]
    """Pages with actions, each a call of a service."""

    def complete(self, rows: list[Any]) -> None:
        """Give the rows of a page what their columns show of other tables, a statement for all."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        """A row's own page shows the same; templates ask for a column several times."""
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            self.complete([row])
        return row

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[PageList]:
        return PageList

    @abstractmethod
    def caller(self, request: HttpRequest) -> Any:
        """The identity with which services are called."""

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Looking takes the right to view, acting the right to change."""
        options = self.opts
        return request.user.has_perm(f"{options.app_label}.change_{options.model_name}")

    def for_each(
        self, request: HttpRequest, rows: Iterable[Any], what: str, write: Callable[[Any], object]
    ) -> None:
        """Write each chosen row by itself: one that refuses does not keep the others from it."""
        done = 0
        for row in rows:
            try:
                with transaction.atomic():
                    write(row)
                done += 1
            except REFUSALS as error:
                text = f"{row}: {problem_from(error).text}"
                self.message_user(request, text, messages.ERROR)
        if done:
            self.message_user(request, f"{what}: {done}.", messages.SUCCESS)


class ServiceAdmin(ActingAdmin):
    """Pages whose every write is a call of a service: of `services`, or of the three methods."""

    services: Services
    form = ServiceForm
    formfield_overrides = {models.TextField: {"widget": UnfoldAdminTextInputWidget}}
    fixed_fields: tuple[str, ...] = ()
    references_by_id: tuple[str, ...] = ()
    list_filter_submit = True
    warn_unsaved_form = True

    def perform_create(self, caller: Any, values: Values) -> Any:
        return self.services.create(caller, values)

    def perform_update(self, caller: Any, row: Any, changes: Values) -> Any:
        return self.services.update(caller, row, changes, timezone.now())

    def perform_delete(self, caller: Any, row: Any) -> None:
        self.services.delete(caller, row)

    def written(self, request: HttpRequest, made: Any) -> None:
        """What there is to say about a row that was just made or changed, such as its secret."""

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
        form.references_by_id = self.references_by_id
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        made = self._write(request, form)
        obj.pk = made.pk
        self.written(request, made)

    def _write(self, request: HttpRequest, form: ServiceForm) -> Any:
        caller = self.caller(request)
        if form.instance.pk is None:
            given = {name: value for name, value in form.values().items() if value is not None}
            return self.perform_create(caller, given)
        row: Any = self.model._default_manager.get(pk=form.instance.pk)
        changes = form.changes()
        return self.perform_update(caller, row, changes) if changes else row

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.perform_delete(self.caller(request), obj)

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
        """Lists what goes along; whether it may is the service's to say."""
        listed, counts, _, _ = super().get_deleted_objects(objs, request)
        return listed, counts, set(), []

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Rows are deleted one by one, each with its own confirmation."""
        actions: dict[str, Any] = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions


class ReadOnlyAdmin(ActingAdmin):
    """Looked at, never edited."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class HistoryAdmin(ReadOnlyAdmin):
    """Tables that grow for ever: no count of all rows, newest first."""

    show_full_result_count = False
    list_per_page = 50
    list_filter_submit = True
    ordering = ("-id",)


class ReadOnlyInline(TabularInline):  # type: ignore[misc]
    extra = 0
    can_delete = False
    per_page = 50
    ordering: tuple[str, ...] = ("pk",)

    def get_queryset(self, request: HttpRequest) -> Any:
        """What a row refers to is shown by name, and so read along with it."""
        rows = super().get_queryset(request)
        columns = self.model._meta.fields
        named = [c.name for c in columns if c.is_relation and c.name in (self.fields or ())]
        return rows.select_related(*named) if named else rows

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
