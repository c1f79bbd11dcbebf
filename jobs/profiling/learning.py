"""What running attempts teach: their speed and watts become points of their profile."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F

from jobs.models import Profile, ProfilePoint
from jobs.profiling.judgement import IN_A_ROW, drift_text, judged
from jobs.profiling.knowledge import applications
from jobs.profiling.performance.application import Application
from jobs.profiling.steering import WEIGHT

# A measurement must have lasted this long, and counts more the longer it lasted: as much as one of
# a profiling run after half a minute.
LEAST_S, LEAST_STEPS = 10.0, 20
FULL_WEIGHT_S, MOST_WEIGHT = 30.0, 4 * WEIGHT
# While an attempt runs its point is written anew this often; after its end once more.
EVERY = timedelta(seconds=60)
LOOK_BACK = timedelta(minutes=10)
KEPT = 200
# Once the program has changed, what was measured before hardly counts.
OUTDATED = 0.05

# Rank 0 reports the steps; watts and CPUs are the mean of all nodes. A point is due when there is
# none of this configuration yet, or when it has aged, or when the attempt has ended since. A
# profiling run writes its own.
_DUE = """
SELECT job.profile_id, job.tenant_id, attempt.id, kind.name, attempt.gpus, part.clock_mhz,
       part.cpus / attempt.gpus, held.memory_mib / attempt.gpus,
       part.steps / part.s, part.watts, part.s
FROM (
    SELECT attempt_id, max(speed_steps) AS steps, max(speed_s) AS s,
           -- 0 CPUs are whatever others leave: no configuration that could be had again.
           nullif(sum(speed_cpus), 0)::float8 AS cpus,
           min(speed_clock_mhz) AS clock_mhz,
           sum(speed_mj) / nullif(sum(speed_mj_s), 0) / 1000 AS watts, max(ended_at) AS ended_at
    FROM jobs_part
    WHERE speed_steps IS NOT NULL AND (state <> 'ended' OR ended_at > %(since)s)
    GROUP BY attempt_id
    HAVING max(speed_steps) >= %(steps)s AND max(speed_s) >= %(least_s)s
       AND count(DISTINCT coalesce(speed_clock_mhz, 0)) = 1
) part
JOIN jobs_attempt attempt ON attempt.id = part.attempt_id
JOIN jobs_job job ON job.id = attempt.job_id AND job.profile_id IS NOT NULL
JOIN LATERAL (
    SELECT sum(allocation.memory_mib)::float8 AS memory_mib, min(allocation.node_id) AS node_id,
           count(DISTINCT node.gpu_type_id) AS types
    FROM jobs_allocation allocation JOIN clusters_node node ON node.id = allocation.node_id
    WHERE allocation.attempt_id = attempt.id
) held ON held.types = 1
JOIN clusters_node node ON node.id = held.node_id
JOIN clusters_gputype kind ON kind.id = node.gpu_type_id
LEFT JOIN jobs_profilepoint point
       ON point.attempt_id = attempt.id
      AND point.clock_mhz IS NOT DISTINCT FROM part.clock_mhz
      AND point.cpus_per_gpu IS NOT DISTINCT FROM part.cpus / attempt.gpus
WHERE (point.id IS NULL OR point.measured_at <= %(aged)s AND part.ended_at IS NULL
       OR point.measured_at < part.ended_at)
  AND NOT EXISTS (SELECT 1 FROM jobs_profilingrun run WHERE run.job_id = job.id)
ORDER BY job.profile_id, attempt.id
LIMIT 1000
"""

_RECENT = """
SELECT known_ratio FROM (
    SELECT DISTINCT ON (attempt_id) attempt_id, known_ratio FROM jobs_profilepoint
    WHERE profile_id = %s AND source = 'learned' AND attempt_id <> %s AND known_ratio IS NOT NULL
    ORDER BY attempt_id DESC, id DESC
    LIMIT %s
) newest ORDER BY attempt_id DESC
"""


@dataclass(frozen=True, slots=True)
class Lesson:
    profile_id: int
    tenant_id: int
    attempt_id: int
    gpu_type: str
    gpus: int
    clock_mhz: int | None
    cpus_per_gpu: float | None
    memory_mib_per_gpu: float
    steps_per_s: float
    watts_per_gpu: float | None
    measured_s: float

    @property
    def weight(self) -> float:
        return min(WEIGHT * self.measured_s / FULL_WEIGHT_S, MOST_WEIGHT)


def attempts_learn(*, now: datetime) -> int:
    """Take in what has been measured since; how many points were written."""
    lessons = list(_due(now))
    known = applications([lesson.profile_id for lesson in lessons]) if lessons else {}
    for lesson in lessons:
        _learn(lesson, known[lesson.profile_id], now)
    for profile_id in {lesson.profile_id for lesson in lessons}:
        _forget_oldest(profile_id)
    return len(lessons)


def _due(now: datetime) -> Iterator[Lesson]:
    with connection.cursor() as cursor:
        cursor.execute(
            _DUE,
            {
                "aged": now - EVERY,
                "since": now - LOOK_BACK,
                "steps": LEAST_STEPS,
                "least_s": LEAST_S,
            },
        )
        for row in cursor.fetchall():
            yield Lesson(*row)


@transaction.atomic
def _learn(lesson: Lesson, known: Application, now: datetime) -> None:
    ratio = _ratio(lesson, known)
    verdict = judged(ratio, _recent(lesson)) if ratio is not None else None
    ProfilePoint.objects.update_or_create(
        attempt_id=lesson.attempt_id,
        clock_mhz=lesson.clock_mhz,
        cpus_per_gpu=lesson.cpus_per_gpu,
        memory_mib_per_gpu=lesson.memory_mib_per_gpu,
        defaults={
            "tenant_id": lesson.tenant_id,
            "profile_id": lesson.profile_id,
            "gpu_type": lesson.gpu_type,
            "gpus": lesson.gpus,
            "steps_per_s": lesson.steps_per_s,
            "watts_per_gpu": lesson.watts_per_gpu or None,
            "source": ProfilePoint.Source.LEARNED,
            "weight": lesson.weight,
            "accepted": verdict is None or verdict.accepted,
            "known_ratio": ratio,
            "measured_at": now,
        },
    )
    profiles = Profile.objects.filter(pk=lesson.profile_id)
    if verdict is not None and verdict.drift is not None:
        _believe_the_newest(lesson)
        profiles.update(drift=drift_text(verdict.drift), drift_at=now)
    profiles.filter(basis=Profile.Basis.NEUTRAL).update(basis=Profile.Basis.MEASURED)
    profiles.update(fit_due=True, updated_at=now, revision=F("revision") + 1)


def _ratio(lesson: Lesson, known: Application) -> float | None:
    """Measured over predicted; none where nothing is known of such a configuration."""
    predicted = known.predict(
        lesson.gpu_type,
        lesson.gpus,
        float(lesson.clock_mhz or 0),
        cpus_per_gpu=lesson.cpus_per_gpu or math.nan,
    )
    if predicted.source == "neutral" or predicted.extrapolated or not predicted.steps_per_s > 0:
        return None
    return lesson.steps_per_s / predicted.steps_per_s


def _recent(lesson: Lesson) -> list[float]:
    with connection.cursor() as cursor:
        cursor.execute(_RECENT, [lesson.profile_id, lesson.attempt_id, IN_A_ROW - 1])
        return [float(row[0]) for row in cursor.fetchall()]


def _believe_the_newest(lesson: Lesson) -> None:
    points = ProfilePoint.objects.filter(profile=lesson.profile_id)
    learned = points.filter(source=ProfilePoint.Source.LEARNED).order_by("-attempt_id")
    newest = list(dict.fromkeys(learned.values_list("attempt_id", flat=True)))[:IN_A_ROW]
    points.filter(attempt__in=newest).update(accepted=True, known_ratio=None)
    # The measured ones of before: once, since their ratio is what marks them as not outdated yet.
    older = points.exclude(attempt__in=newest).filter(weight__gt=OUTDATED)
    older.update(weight=F("weight") * OUTDATED)


def _forget_oldest(profile_id: int) -> None:
    learned = ProfilePoint.objects.filter(
        profile=profile_id, source=ProfilePoint.Source.LEARNED
    ).order_by("-measured_at")
    old = list(learned.values_list("pk", flat=True)[KEPT : KEPT + 1000])
    if old:
        ProfilePoint.objects.filter(pk__in=old).delete()
