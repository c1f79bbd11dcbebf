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

    # Set by the admin that shows the form; writes the form's values and returns the row.
    write: ClassVar[Callable[..., Model]]

    def clean(self) -> dict[str, Any]:
        # Not the parent's: the services and the database say what is unique, in better words.
        if not self.errors:
            with refusals_shown_on(self), transaction.atomic():
                type(self).write(self)
                transaction.set_rollback(True)
        return self.cleaned_data

    def values(self) -> dict[str, Any]:
        """As the services take them: rows by name, empty JSON instead of none."""
        return {name: self._value(name) for name in self.cleaned_data}

    def _value(self, name: str) -> Any:
        value = self.cleaned_data[name]
        if isinstance(value, Model):
            return getattr(value, "name", value.pk)
        if value in (None, "") and name in _column_names(self.instance):
            column = self.instance._meta.get_field(name)
            if isinstance(column, JSONField):
                return column.get_default()
            return None if column.null else value
        return value


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
            name = first if first in form.fields else None
            text = f"{deeper}: {fault.detail}" if deeper else fault.detail
            form.add_error(name, text)
