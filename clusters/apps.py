"""Django's entry for the machines."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "clusters"
