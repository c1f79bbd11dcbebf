"""Django's entry for tariffs and carbon series."""

from django.apps import AppConfig


class TariffsConfig(AppConfig):
    name = "tariffs"
