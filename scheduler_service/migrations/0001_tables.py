from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='DutyRecord',
            fields=[
                ('name', models.TextField(primary_key=True, serialize=False)),
                ('ran_at', models.DateTimeField()),
                ('runner', models.TextField(choices=[('worker', 'Worker'), ('ticker', 'Ticker')])),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('runner__in', ('worker', 'ticker'))), name='duty_runner')],
            },
        ),
    ]
