"""The Celery application; Postgres is the record, this is only the doorbell."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_service.settings")

app = Celery("fairwatt")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
