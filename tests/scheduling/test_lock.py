"""Of two sessions one runs a cluster's round."""

from contextlib import closing

import pytest
from django.db import connection

from scheduling import lock


@pytest.mark.django_db
def test_who_comes_second_is_told_so_at_once() -> None:
    key = lock._ROUND | 7
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [key])
        with lock.cluster_lock(7) as held, lock.cluster_lock(8) as of_another:
            assert (held, of_another) == (False, True)
        cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
        with lock.cluster_lock(7) as freed:
            assert freed
