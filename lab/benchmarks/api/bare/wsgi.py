"""Served by the same command as the API; its one view needs no scope of row-level security."""

import os

os.environ["DJANGO_SETTINGS_MODULE"] = "lab.benchmarks.api.bare.settings"
os.environ["FAIRWATT_DATABASE_SCOPE"] = "all"

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
