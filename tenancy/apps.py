"""Django's registration of who may do what."""

from django.apps import AppConfig


class TenancyConfig(AppConfig):
    name = "tenancy"
