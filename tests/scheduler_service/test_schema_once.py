"""The schema is made once per process and format, whoever asks."""

import json

import pytest
import yaml
from django.test import Client

from scheduler_service import schema


@pytest.mark.django_db
def test_it_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    schema._document.cache_clear()
    client = Client()
    first = client.get("/api/v1/schema/?format=json")
    assert first["Content-Type"].startswith("application/vnd.oai.openapi+json")
    assert first["Content-Disposition"] == 'inline; filename="Fairwatt.json"'
    text = client.get("/api/v1/schema/")
    assert yaml.safe_load(text.content)["paths"].keys() == json.loads(first.content)["paths"].keys()

    monkeypatch.setattr(schema.SchemaView, "generator_class", None)
    assert client.get("/api/v1/schema/?format=json").content == first.content
    assert client.get("/api/v1/schema/").content == text.content
