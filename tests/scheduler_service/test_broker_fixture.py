"""The tests' own broker is the one that Celery and the settings name."""

import redis
from django.conf import settings

from scheduler_service import celery_app


def test_celery_publishes_to_the_brokers_queue(broker_url: str) -> None:
    assert broker_url == settings.BROKER_URL == settings.CACHE_URL
    celery_app.send_task("nobody.listens", queue="probe")
    with redis.Redis.from_url(broker_url) as client:
        assert client.llen("probe") == 1
        client.delete("probe")
