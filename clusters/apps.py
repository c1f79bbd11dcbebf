"""Django's entry for the room, and what its constraints mean to a caller."""

from django.apps import AppConfig

from clusters.constraints import explain_constraints


class ClustersConfig(AppConfig):
    name = "clusters"

    def ready(self) -> None:
        explain_constraints()
