"""How long samples, minutes and logs are kept; what samples showed of gaps stays."""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection, transaction

from energy.ledger.balance import gaps
from energy.models import SampleMinute
from energy.telemetry.roll_up import roll_up
from jobs.models import Log, LogChunk

_OLD_GPUS = "SELECT DISTINCT gpu_id FROM energy_sample WHERE at < %s"
# The newest of the old ones stays: it is where the next interval begins.
_KEEP_FROM = """
UPDATE energy_gpucounter counter SET kept_from = newest.sequence
FROM (SELECT gpu_id, boot_id, max(sequence) AS sequence
      FROM energy_sample WHERE at < %s GROUP BY gpu_id, boot_id) newest
WHERE counter.gpu_id = newest.gpu_id AND counter.boot_id = newest.boot_id
  AND counter.kept_from < newest.sequence
"""
_FORGET = """
DELETE FROM energy_sample sample USING energy_gpucounter counter
WHERE sample.at < %s AND counter.gpu_id = sample.gpu_id AND counter.boot_id = sample.boot_id
  AND sample.sequence < counter.kept_from
"""
_ADD_GAP = "UPDATE energy_gpucounter SET gap_mj = gap_mj + %s WHERE gpu_id = %s AND boot_id = %s"
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def forget_samples(*, now: datetime) -> None:
    before = now - timedelta(seconds=settings.SAMPLES_KEEP_S)
    # Whole minutes, so that none is forgotten before its last sample was counted.
    before = before.replace(second=0, microsecond=0)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_OLD_GPUS, [before])
        gpus = [row[0] for row in cursor.fetchall()]
        if gpus:
            roll_up(LONG_AGO, before)
            for (gpu, boot), gap_mj in gaps(gpus, before=before).items():
                cursor.execute(_ADD_GAP, [gap_mj, gpu, boot])
            cursor.execute(_KEEP_FROM, [before])
            cursor.execute(_FORGET, [before])
    oldest = now - timedelta(days=settings.MINUTES_KEEP_DAYS)
    SampleMinute.objects.filter(minute_at__lt=oldest).delete()


def forget_logs(*, now: datetime) -> None:
    old = Log.objects.filter(updated_at__lt=now - timedelta(days=settings.LOGS_KEEP_DAYS))
    LogChunk.objects.filter(log__in=old).delete()
    old.delete()
