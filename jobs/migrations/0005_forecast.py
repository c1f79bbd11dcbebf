from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0004_lists")]

    operations = [
        migrations.AddField("job", name, models.DateTimeField(null=True))
        for name in ("forecast_start_at", "forecast_low_at", "forecast_high_at", "forecast_at")
    ]
