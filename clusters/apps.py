"""Django's entry for the room."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "clusters"
