"""Forms that write through services, and show what those refuse beside the field it is about."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from django import forms
from django.db import IntegrityError, transaction
from django.db.models import JSONField, Model, ProtectedError
from rest_framework.exceptions import APIException

from rest.problems import problem_from

# Problem is one of the first.
REFUSALS = (APIException, IntegrityError, ProtectedError)


class ServiceForm(forms.ModelForm):  # type: ignore[type-arg]
    """Rehearses its write in a savepoint, so that even the database's refusals are form errors."""

    # Both are set by the admin that shows the form: what writes the form's values and returns the
    # row, and the references that the services take as ids instead of names.
    write: ClassVar[Callable[..., Any]]
    references_by_id: ClassVar[tuple[str, ...]] = ()

    def clean(self) -> dict[str, Any]:
        # Not the parent's: the services and the database say what is unique, in better words.
        if not self.errors:
            with refusals_shown_on(self), transaction.atomic():
                type(self).write(self)
                transaction.set_rollback(True)
        return self.cleaned_data

    def values(self) -> dict[str, Any]:
        """As the services take them: rows by name or id, what was left empty by its default."""
        return {self._key(name): self._value(name) for name in self.cleaned_data}

    def changes(self) -> dict[str, Any]:
        changed = {self._key(name) for name in self.changed_data}
        return {name: value for name, value in self.values().items() if name in changed}

    def _key(self, name: str) -> str:
        return f"{name}_id" if name in self.references_by_id else name

    def _value(self, name: str) -> Any:
        value = self.cleaned_data[name]
        if isinstance(value, Model):
            by_id = name in self.references_by_id
            return value.pk if by_id else getattr(value, "name", value.pk)
        if value in (None, "") and name in _column_names(self.instance):
            return _when_empty(self.instance._meta.get_field(name), value)
        return value


def _when_empty(column: Any, value: Any) -> Any:
    if column.null and not isinstance(column, JSONField):
        return None
    return column.get_default() if column.has_default() else value


def _column_names(row: Model) -> set[str]:
    return {column.name for column in row._meta.fields}


@contextmanager
def refusals_shown_on(form: forms.BaseForm) -> Iterator[None]:
    """A fault's pointer names the field; what points nowhere stands above the form."""
    try:
        yield
    except REFUSALS as error:
        problem = problem_from(error)
        if not problem.errors:
            form.add_error(None, problem.text)
        for fault in problem.errors:
            first, _, deeper = fault.pointer.removeprefix("/").partition("/")
            text = f"{deeper}: {fault.detail}" if deeper else fault.detail
            form.add_error(_field_of(form, first), text)


def _field_of(form: forms.BaseForm, name: str) -> str | None:
    return next((n for n in (name, name.removesuffix("_id")) if n in form.fields), None)
