"""What the database's constraints mean to a caller: said on the constraint, read from the models.

Foreign keys, `unique=True` and the checks of Django's own fields have words by a rule. A model may
say its own, also of what only a migration's SQL promises:
`explained = {"field or constraint": ConstraintRule(code, pointer, detail)}`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db import connection, models
from django.db.models import F, Q
from django.db.models.expressions import BaseExpression

_NAME_MAX = 63
_GONE = "What this row refers to has just gone, or has just come into use; read again."


@dataclass(frozen=True, slots=True)
class ConstraintRule:
    code: str
    pointer: str
    detail: str


class _Explained(models.constraints.BaseConstraint, ABC):
    """A constraint that says "code: words" to whoever breaks it, and points to the field.

    Migrations see the plain constraint: words can change without one.
    """

    plain: type[models.constraints.BaseConstraint]

    def __init__(self, says: str, pointer: str | None, **facts: Any) -> None:
        code, _, words = says.partition(": ")
        self.pointer = pointer
        self.says = says
        super().__init__(**facts, violation_error_code=code, violation_error_message=words)

    def deconstruct(self) -> Any:
        _, args, kwargs = super().deconstruct()
        promised = {name: v for name, v in kwargs.items() if name not in self.non_db_attrs}
        return f"django.db.models.{self.plain.__name__}", args, promised

    def __eq__(self, other: object) -> bool:
        """Python asks the subclass first, also when Django compares with a migration's."""
        if not isinstance(other, self.plain):
            return NotImplemented
        return bool(self.deconstruct() == other.deconstruct())

    __hash__ = None  # type: ignore[assignment]

    def rule(self) -> ConstraintRule:
        pointer = f"/{self.about()}" if self.pointer is None else self.pointer
        return ConstraintRule(
            str(self.violation_error_code), pointer, str(self.violation_error_message)
        )

    @abstractmethod
    def about(self) -> str:
        """The field that it points to."""


class Check(_Explained, models.CheckConstraint):
    """Points to the first field of its condition, unless told otherwise."""

    plain = models.CheckConstraint

    def __init__(
        self, name: str, condition: Q | BaseExpression, says: str, *, pointer: str | None = None
    ) -> None:
        super().__init__(says, pointer, name=name, condition=condition)

    def clone(self) -> Self:
        return type(self)(self.name, self.condition, self.says, pointer=self.pointer)

    def about(self) -> str:
        return next(_names(self.condition), "")


class Unique(_Explained, models.UniqueConstraint):
    """Points to the last of its fields, unless told otherwise."""

    plain = models.UniqueConstraint

    def __init__(
        self,
        name: str,
        fields: Sequence[str],
        says: str,
        *,
        pointer: str | None = None,
        **more: Any,
    ) -> None:
        self.more = more
        super().__init__(says, pointer, name=name, fields=fields, **more)

    def clone(self) -> Self:
        return type(self)(self.name, self.fields, self.says, pointer=self.pointer, **self.more)

    def about(self) -> str:
        return self.fields[-1] if self.fields else ""


def composite_target(of: str, shared: str = "tenant") -> Unique:
    """What a composite key refers to: who names the row must name its `shared` column too."""
    says = "duplicate_id: The id is taken."
    return Unique(f"{of}_of_{shared}", ["id", shared], says, pointer="")


def _names(condition: Any) -> Iterator[str]:
    if isinstance(condition, tuple):
        yield str(condition[0]).partition("__")[0]
    elif isinstance(condition, F):
        yield str(condition.name)  # type: ignore[attr-defined]
    elif isinstance(condition, Q):
        for child in condition.children:
            yield from _names(child)


def rule_for(constraint: str | None) -> ConstraintRule | None:
    return _rules().get(constraint) if constraint else None


@cache
def _rules() -> dict[str, ConstraintRule]:
    found: dict[str, ConstraintRule] = {}
    for model in apps.get_models():
        found |= rules_of(model)
    return found


def rules_of(model: type[models.Model]) -> dict[str, ConstraintRule]:
    """Constraint → its words, of one model."""
    found: dict[str, ConstraintRule] = {}
    for field in model._meta.local_concrete_fields:
        found |= _of_field(model, field)
    for constraint in model._meta.constraints:
        if isinstance(constraint, _Explained):
            found[constraint.name] = constraint.rule()
    own: Mapping[str, ConstraintRule] = getattr(model, "explained", {})
    for name, rule in own.items():
        found |= dict.fromkeys(_constraints_called(model, name), rule)
    return found


def _constraints_called(model: type[models.Model], name: str) -> list[str]:
    """The constraints of the field of this name, or the constraint itself."""
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return [name]
    return list(_of_field(model, field))


def _of_field(model: type[models.Model], field: Any) -> dict[str, ConstraintRule]:
    table, at, found = model._meta.db_table, f"/{field.name}", {}
    if field.unique and not field.primary_key:
        words = f"Another {model._meta.verbose_name} has this {field.verbose_name}; choose another."
        found[made_name(table, field.column, "key")] = ConstraintRule(
            f"{field.name}_taken", at, words
        )
    if field.db_parameters(connection).get("check"):
        rule = ConstraintRule("out_of_range", at, "The value is outside what the column can hold.")
        found[made_name(table, field.column, "check")] = rule
    if field.remote_field and field.db_constraint:
        found[_foreign_key(model, field)] = ConstraintRule("reference_changed", at, _GONE)
    return found


def made_name(table: str, column: str, label: str) -> str:
    """As Postgres names what is declared with its column: the longer part gives way."""
    room = _NAME_MAX - len(label) - 2
    while len(table) + len(column) > room:
        table, column = (table[:-1], column) if len(table) > len(column) else (table, column[:-1])
    return f"{table}_{column}_{label}"


def _foreign_key(model: type[models.Model], field: Any) -> str:
    """Django's own name for it, digits and all; the migrations ask the same function."""
    editor: Any = connection.schema_editor()
    name = editor._fk_constraint_name(model, field, "_fk_%(to_table)s_%(to_column)s")  # noqa: SLF001
    return str(name).strip('"')
