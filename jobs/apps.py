"""Django's entry for the room, and what its constraints mean to a caller."""

from django.apps import AppConfig

from jobs.constraints import explain_constraints


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        explain_constraints()
