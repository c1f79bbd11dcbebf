"""What Django's models cannot say: composite keys, final states, fences, rings and row-level security."""

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

# What a node should run is what it holds: whatever changes that rings the node, in the transaction
# that changes it. Postgres sends a node that is rung twice by one transaction once.
RING_HOLDER = """
CREATE FUNCTION jobs_ring_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('fairwatt_nodes', NEW.node_id::text);
  RETURN NULL;
END $$
"""
ON_HOLD = """
CREATE TRIGGER jobs_allocation_rings AFTER INSERT ON jobs_allocation
FOR EACH ROW EXECUTE FUNCTION jobs_ring_holder()
"""
ON_RETUNE = """
CREATE TRIGGER jobs_allocation_rings_anew AFTER UPDATE OF cpus, memory_mib ON jobs_allocation
FOR EACH ROW WHEN (OLD.cpus <> NEW.cpus OR OLD.memory_mib <> NEW.memory_mib)
EXECUTE FUNCTION jobs_ring_holder()
"""
# An end that the nodes reported themselves needs no ring; the allocations of one that was given up
# are already released when this is asked.
RING_HOLDERS = """
CREATE FUNCTION jobs_ring_holders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('fairwatt_nodes', node_id::text)
  FROM (SELECT DISTINCT node_id FROM jobs_allocation WHERE attempt_id = NEW.id) holder;
  RETURN NULL;
END $$
"""
ON_ORDER = """
CREATE TRIGGER jobs_attempt_rings
AFTER UPDATE OF state, clock_mhz, steered_clock_mhz, steered_cpus ON jobs_attempt
FOR EACH ROW WHEN (
  NEW.state IN ('stopping', 'lost') AND OLD.state <> NEW.state
  OR OLD.clock_mhz IS DISTINCT FROM NEW.clock_mhz
  OR OLD.steered_clock_mhz IS DISTINCT FROM NEW.steered_clock_mhz
  OR OLD.steered_cpus IS DISTINCT FROM NEW.steered_cpus
) EXECUTE FUNCTION jobs_ring_holders()
"""
# For event streams. Nobody can follow a job before it is submitted: that one move tells nobody,
# and submits do not queue for the lock under which Postgres orders notifications.
TELL_MOVE = """
CREATE FUNCTION jobs_tell_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('fairwatt_jobs', NEW.job_id::text);
  RETURN NULL;
END $$
"""
ON_EVENT = """
CREATE TRIGGER jobs_jobevent_tells AFTER INSERT ON jobs_jobevent
FOR EACH ROW WHEN (NEW.from_state IS NOT NULL) EXECUTE FUNCTION jobs_tell_move()
"""

# Where nothing keeps tenants apart, or the operator wants them apart, a node is one tenant's at a
# time. Locking the node makes two placements of one moment see each other.
ONE_TENANT = """
CREATE FUNCTION jobs_one_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM clusters_node node JOIN clusters_cluster cluster ON cluster.id = node.cluster_id
  WHERE node.id IN (SELECT node_id FROM placed) AND (node.wall = 'none' OR cluster.exclusive)
  ORDER BY node.id FOR NO KEY UPDATE OF node;
  IF FOUND AND EXISTS (
    SELECT FROM jobs_allocation held
    JOIN clusters_node node ON node.id = held.node_id
    JOIN clusters_cluster cluster ON cluster.id = node.cluster_id
    WHERE held.node_id IN (SELECT node_id FROM placed) AND held.released_at IS NULL
      AND (node.wall = 'none' OR cluster.exclusive)
    GROUP BY held.node_id HAVING count(DISTINCT held.tenant_id) > 1)
  THEN
    RAISE EXCEPTION 'a node without a wall is one tenant''s at a time'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'allocation_one_tenant';
  END IF;
  RETURN NULL;
END $$
"""
ON_ALLOCATION = """
CREATE TRIGGER jobs_allocation_one_tenant AFTER INSERT ON jobs_allocation
REFERENCING NEW TABLE AS placed FOR EACH STATEMENT EXECUTE FUNCTION jobs_one_tenant()
"""


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0001_tables"),
        ("clusters", "0002_promises"),
        ("storage", "0002_promises"),
        ("tenancy", "0002_walls"),
    ]

    operations = [
        composite_key("jobs_job", "partition", "clusters_partition", "cluster"),
        composite_key("jobs_job", "profile", "jobs_profile"),
        composite_key("jobs_job", "array", "jobs_jobarray"),
        # The job of a deleted archive stays, and says that it had none.
        composite_key("jobs_job", "workdir", "storage_blob", on_delete="SET NULL (workdir_id)"),
        composite_key("jobs_artifact", "attempt", "jobs_attempt", on_delete="CASCADE"),
        composite_key("jobs_artifact", "blob", "storage_blob"),
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
        migrations.RunSQL(RING_HOLDER, "DROP FUNCTION jobs_ring_holder"),
        migrations.RunSQL(ON_HOLD, "DROP TRIGGER jobs_allocation_rings ON jobs_allocation"),
        migrations.RunSQL(ON_RETUNE, "DROP TRIGGER jobs_allocation_rings_anew ON jobs_allocation"),
        migrations.RunSQL(RING_HOLDERS, "DROP FUNCTION jobs_ring_holders"),
        migrations.RunSQL(ON_ORDER, "DROP TRIGGER jobs_attempt_rings ON jobs_attempt"),
        migrations.RunSQL(TELL_MOVE, "DROP FUNCTION jobs_tell_move"),
        migrations.RunSQL(ON_EVENT, "DROP TRIGGER jobs_jobevent_tells ON jobs_jobevent"),
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
        *tenant_rls("jobs_artifact"),
        migrations.RunSQL(ONE_TENANT, "DROP FUNCTION jobs_one_tenant"),
        migrations.RunSQL(ON_ALLOCATION, "DROP TRIGGER jobs_allocation_one_tenant ON jobs_allocation"),
    ]
