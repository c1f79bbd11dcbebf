"""The porch: settings, Celery, URLs and the embedded stack; it decides nothing."""

from scheduler_service.celery import app as celery_app

__all__ = ["celery_app"]
