"""Django's entry for what would happen."""

from django.apps import AppConfig


class WhatifConfig(AppConfig):
    name = "whatif"
    verbose_name = "What if"
