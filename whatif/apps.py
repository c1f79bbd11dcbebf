"""Django's entry for the room, and what its constraints mean to a caller."""

from django.apps import AppConfig

from whatif.constraints import explain_constraints


class WhatifConfig(AppConfig):
    name = "whatif"
    verbose_name = "What if"

    def ready(self) -> None:
        explain_constraints()
