"""What Django's models cannot say: composite keys, final states, fences and row-level security."""

from django.db import migrations

from rest.promises import composite_key
from tenancy.rls import tenant_rls


def sequence(name: str) -> migrations.RunSQL:
    return migrations.RunSQL(f"CREATE SEQUENCE {name}", f"DROP SEQUENCE {name}")


# The moves of jobs/lifecycle.py once more, in the one place that no code path can go around; a
# test compares the two.
LEGAL_MOVES = """
CREATE FUNCTION jobs_legal_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (CASE OLD.state
      WHEN 'queued' THEN NEW.state IN ('placed', 'failed', 'cancelled')
      WHEN 'placed' THEN NEW.state IN ('running', 'preempting', 'queued', 'failed', 'cancelled')
      WHEN 'running'
        THEN NEW.state IN ('preempting', 'queued', 'succeeded', 'failed', 'cancelled')
      WHEN 'preempting' THEN NEW.state IN ('queued', 'succeeded', 'failed', 'cancelled')
      ELSE false END)
  THEN
    RAISE EXCEPTION 'no job moves from % to %', OLD.state, NEW.state
      USING ERRCODE = 'check_violation', CONSTRAINT = 'job_legal_move';
  END IF;
  RETURN NEW;
END $$
"""
ON_MOVE = """
CREATE TRIGGER jobs_job_legal_move BEFORE UPDATE OF state ON jobs_job
FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION jobs_legal_move()
"""

FENCE_GROWS = """
CREATE FUNCTION jobs_fence_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.fence < OLD.fence OR OLD.state IN ('ended', 'lost') AND NEW.state <> OLD.state THEN
    RAISE EXCEPTION 'attempt %: a fence only grows and an end is final', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'attempt_fence_grows';
  END IF;
  RETURN NEW;
END $$
"""
ON_ATTEMPT = """
CREATE TRIGGER jobs_attempt_fence_grows BEFORE UPDATE OF fence, state ON jobs_attempt
FOR EACH ROW EXECUTE FUNCTION jobs_fence_grows()
"""


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0001_tables"),
        ("clusters", "0002_promises"),
        ("tenancy", "0002_walls"),
    ]

    operations = [
        composite_key("jobs_job", "partition", "clusters_partition", "cluster"),
        composite_key("jobs_job", "profile", "jobs_profile"),
        composite_key("jobs_job", "array", "jobs_jobarray"),
        composite_key("jobs_jobdependency", "job", "jobs_job", on_delete="CASCADE"),
        composite_key("jobs_jobdependency", "on_job", "jobs_job", on_delete="CASCADE"),
        composite_key("jobs_jobevent", "job", "jobs_job", on_delete="CASCADE"),
        composite_key("jobs_attempt", "job", "jobs_job"),
        composite_key("jobs_allocation", "attempt", "jobs_attempt"),
        composite_key("jobs_part", "attempt", "jobs_attempt", on_delete="CASCADE"),
        composite_key("jobs_log", "attempt", "jobs_attempt"),
        composite_key("jobs_profilepoint", "profile", "jobs_profile", on_delete="CASCADE"),
        composite_key("jobs_profilepoint", "attempt", "jobs_attempt", on_delete="CASCADE"),
        composite_key("jobs_profilefit", "profile", "jobs_profile", on_delete="CASCADE"),
        composite_key("jobs_profilingrun", "profile", "jobs_profile", on_delete="CASCADE"),
        composite_key("jobs_profilingrun", "job", "jobs_job"),
        sequence("jobs_fence"),
        migrations.RunSQL(LEGAL_MOVES, "DROP FUNCTION jobs_legal_move"),
        migrations.RunSQL(ON_MOVE, "DROP TRIGGER jobs_job_legal_move ON jobs_job"),
        migrations.RunSQL(FENCE_GROWS, "DROP FUNCTION jobs_fence_grows"),
        migrations.RunSQL(ON_ATTEMPT, "DROP TRIGGER jobs_attempt_fence_grows ON jobs_attempt"),
        *tenant_rls("jobs_profile"),
        *tenant_rls("jobs_profilepoint"),
        *tenant_rls("jobs_profilefit"),
        *tenant_rls("jobs_profilingrun"),
        *tenant_rls("jobs_jobarray"),
        *tenant_rls("jobs_job"),
        *tenant_rls("jobs_jobdependency"),
        *tenant_rls("jobs_jobevent"),
        *tenant_rls("jobs_attempt"),
        *tenant_rls("jobs_allocation"),
        *tenant_rls("jobs_part"),
        *tenant_rls("jobs_log"),
        *tenant_rls("jobs_logchunk"),
        *tenant_rls("jobs_gpuquota"),
    ]
