"""Django's registration of the conventions and their one table."""

from django.apps import AppConfig


class RestConfig(AppConfig):
    name = "rest"
    verbose_name = "API conventions"
