"""What Django's models cannot say: hours are whole hours."""

from django.db import migrations


def whole_hours(table: str) -> migrations.RunSQL:
    name = f"{table}_on_the_hour"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} "
        "CHECK (extract(epoch FROM starts_at) % 3600 = 0)",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("tariffs", "0001_tables")]

    operations = [whole_hours("tariffs_tariffhour"), whole_hours("tariffs_carbonhour")]
