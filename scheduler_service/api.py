"""The API as granian serves it: Django behind the front that reads requests for it."""

from scheduler_service.front.application import Front
from scheduler_service.orphans import end_with_master
from scheduler_service.wsgi import application as django

end_with_master()
application = Front(django)
