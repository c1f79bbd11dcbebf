"""The Celery application; Postgres is the record, this is only the doorbell."""

import os
from typing import Any

from celery import Celery, Task
from django.db import close_old_connections, connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_service.settings")


class KeptConnectionTask(Task[Any, Any]):
    """Tasks of a process share its connection: a new one costs more than most tasks."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.request.called_directly:
            return super().__call__(*args, **kwargs)
        # Closes what a restart of Postgres has left; the rest is asked whether it still lives.
        close_old_connections()
        try:
            return super().__call__(*args, **kwargs)
        except BaseException:
            # Cut short in the middle of a statement, its session may still hold a lock.
            connections.close_all()
            raise


app = Celery("fairwatt", task_cls=KeptConnectionTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
