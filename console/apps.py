"""The console's place among Django's apps; it has no tables."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console"
