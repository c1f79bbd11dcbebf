"""The door's process: like the API's, its connections see no rows until somebody is known."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_service.settings")
os.environ["FAIRWATT_DATABASE_SCOPE"] = "none"

import django
from django.utils.module_loading import import_string

from scheduler_service.orphans import end_with_master


def _application() -> object:
    """Models can be imported once Django is set up."""
    django.setup()
    return import_string("scheduler_service.door.Door")()


end_with_master()
application = _application()
