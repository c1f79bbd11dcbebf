"""Shapes as DRF serializers, for rooms that do not declare structs yet; to go with the last."""

from collections.abc import Mapping
from typing import Any

from django.db import models
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import append_meta
from rest_framework import serializers
from rest_framework.validators import UniqueValidator

from rest import fields


class Strict:
    """Refuses members the schema does not name."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            names = self._input_names()
            unknown = [name for name in data if name not in names]
            if unknown:
                raise serializers.ValidationError(
                    {name: ["There is no such field."] for name in unknown}, code="unknown_field"
                )
        return super().to_internal_value(data)  # type: ignore[misc]

    def _input_names(self) -> frozenset[str]:
        names: frozenset[str] | None = self.__dict__.get("_input_name_set")
        if names is None:
            writable = (f for f in self.fields.values() if not f.read_only)  # type: ignore[attr-defined]
            names = self.__dict__["_input_name_set"] = frozenset(f.field_name for f in writable)
        return names


class StrictSerializer(Strict, serializers.Serializer[Any]):
    """Use the fields of rest.fields in it: they bound themselves and coerce nothing."""


class StrictModelSerializer(Strict, serializers.ModelSerializer[Any]):
    """Model fields become strict fields; uniqueness is the database's to refuse, in one trip."""

    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.AutoField: fields.Integer,
        models.BigAutoField: fields.Integer,
        models.BigIntegerField: fields.Integer,
        models.IntegerField: fields.Integer,
        models.PositiveBigIntegerField: fields.Integer,
        models.PositiveIntegerField: fields.Integer,
        models.PositiveSmallIntegerField: fields.Integer,
        models.SmallIntegerField: fields.Integer,
        models.FloatField: fields.Number,
        models.BooleanField: fields.Boolean,
        models.CharField: fields.Text,
        models.TextField: fields.Text,
        models.SlugField: fields.Slug,
        models.DecimalField: fields.Amount,
        models.DateTimeField: fields.Instant,
        models.JSONField: fields.JsonObject,
    }
    serializer_choice_field = fields.Choice

    def get_validators(self) -> list[Any]:
        return []

    def build_standard_field(self, field_name: str, model_field: Any) -> Any:
        field_class, kwargs = super().build_standard_field(field_name, model_field)
        if "validators" in kwargs:
            own = [v for v in kwargs["validators"] if not isinstance(v, UniqueValidator)]
            kwargs["validators"] = own
        kwargs.pop("allow_unicode", None)
        return field_class, kwargs


SerializerClass = type[serializers.BaseSerializer[Any]]
_instances: dict[tuple[SerializerClass, bool], serializers.BaseSerializer[Any]] = {}


def _built(serializer_class: SerializerClass, partial: bool) -> serializers.BaseSerializer[Any]:
    """DRF copies every field per instance; one instance without data or context serves them all."""
    key = (serializer_class, partial)
    if key not in _instances:
        _instances[key] = serializer_class(partial=partial)
    return _instances[key]


def validated(
    serializer_class: SerializerClass,
    data: Any,
    *,
    partial: bool = False,
) -> dict[str, Any]:
    values: dict[str, Any] = _built(serializer_class, partial).run_validation(data)
    return values


def represented(serializer_class: SerializerClass, row: Any) -> Any:
    return _built(serializer_class, False).to_representation(row)


class SerializerSchema(AutoSchema):
    """The part of the OpenAPI document that comes from serializers."""

    view: Any

    @property
    def action(self) -> str:
        return str(getattr(self.view, "action", None) or self.method.lower())

    def get_request_serializer(self) -> Any:
        return self.view.inputs.get(self.action)

    def get_response_serializers(self) -> Any:
        return {self.view.success_status(self.action): self.view.output_for(self.action)}

    def _is_list_view(self, serializer: Any = None) -> bool:
        return self.action == "list"

    def _map_serializer_field(
        self, field: Any, direction: Any, bypass_extensions: bool = False
    ) -> Any:
        own = getattr(field, "json_schema", None)
        if own is not None:
            return append_meta(dict(own), self._get_serializer_field_meta(field, direction))
        return super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if direction == "request" and isinstance(serializer, Strict):
            schema["additionalProperties"] = False
        if not type(serializer).__dict__.get("__doc__"):
            # Otherwise the base class would describe every shape.
            schema.pop("description", None)
        return schema

    def _get_serializer_field_meta(self, field: Any, direction: Any) -> dict[str, Any]:
        meta: dict[str, Any] = super()._get_serializer_field_meta(field, direction)  # type: ignore[no-untyped-call]
        if direction == "response":
            # A default only says what leaving the input out means.
            meta.pop("default", None)
        return meta
