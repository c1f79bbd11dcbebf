"""Django's entry for the room."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"
