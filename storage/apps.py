"""Django's entry for storage."""

from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "storage"
