"""Django's registration of the conventions and their one table."""

from django.apps import AppConfig, apps

from rest.labels import label_columns


class RestConfig(AppConfig):
    name = "rest"
    verbose_name = "API conventions"

    def ready(self) -> None:
        label_columns(m for m in apps.get_models() if not m.__module__.startswith("django."))
