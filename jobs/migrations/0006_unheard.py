from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0005_energy")]

    operations = [
        migrations.AddField("part", "unheard_at", models.DateTimeField(null=True)),
    ]
