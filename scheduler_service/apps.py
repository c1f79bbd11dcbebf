"""Django's entry for the porch."""

from django.apps import AppConfig


class ServiceConfig(AppConfig):
    name = "scheduler_service"
