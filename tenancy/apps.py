"""Django's registration of who may do what."""

from importlib import import_module

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    name = "tenancy"

    def ready(self) -> None:
        """Sign-ins are heard from the start, also those that ask no password."""
        import_module("tenancy.logins")
