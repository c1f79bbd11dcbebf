"""The API process: its database connections see no tenant's rows until a caller is known."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_service.settings")
os.environ["FAIRWATT_DATABASE_SCOPE"] = "none"

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
