"""Django's entry for energy and money."""

from django.apps import AppConfig


class EnergyConfig(AppConfig):
    name = "energy"
