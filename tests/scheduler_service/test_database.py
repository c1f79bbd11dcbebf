"""The tests' own database server keeps row-level security real."""

import pytest
from django.db import connection


@pytest.mark.django_db
def test_the_role_can_neither_bypass_row_level_security_nor_be_superuser() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper, rolbypassrls, rolcreatedb FROM pg_roles WHERE rolname = current_user"
        )
        assert cursor.fetchone() == (False, False, True)


@pytest.mark.django_db
def test_the_scope_of_row_level_security_is_set_from_the_start_of_a_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('fairwatt.scope')")
        assert cursor.fetchone() == ("all",)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("statement_timeout", "1min"),
        ("lock_timeout", "10s"),
        ("idle_in_transaction_session_timeout", "1min"),
    ],
)
def test_nothing_of_ours_holds_others_up_for_ever(name: str, value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        assert cursor.fetchone() == (value,)
