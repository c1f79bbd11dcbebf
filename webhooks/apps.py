"""Django's entry for webhooks."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"
