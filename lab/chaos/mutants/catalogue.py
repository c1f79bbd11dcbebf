"""Each mutant takes one guard away, and names the tests that must see it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TextMutant:
    """A guard in the code, and what stands there without it."""

    name: str
    file: str
    guard: str  # stands exactly once in the file
    without: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class SqlMutant:
    """A promise of the database, and the statement that breaks it."""

    name: str
    statement: str
    tests: tuple[str, ...]


Mutant = TextMutant | SqlMutant

AGENTS = "tests/engines/agents"
PROMISED = "tests/jobs/test_promises.py"
ROUND, STALE = "tests/scheduling/test_round.py", "tests/scheduling/test_stale_plans.py"
KEYS = "tests/rest/test_idempotency.py"
SETTLE = "tests/energy/ledger/test_settle.py"
SUPERVISOR, SHIM = "tests/agent/test_supervisor.py", "tests/agent/test_shim.py"

OF_THE_DATABASE = (
    SqlMutant("one holder per GPU", "DROP INDEX one_holder_per_gpu", (PROMISED,)),
    SqlMutant("one live attempt per job", "DROP INDEX one_live_attempt_per_job", (PROMISED,)),
    SqlMutant(
        "only drawn moves of a job",
        "DROP TRIGGER jobs_job_legal_move ON jobs_job",
        ("tests/jobs/test_constraints.py",),
    ),
    SqlMutant(
        "a fence only grows, and an end is final",
        "DROP TRIGGER jobs_attempt_fence_grows ON jobs_attempt",
        (PROMISED,),
    ),
    SqlMutant(
        "an attempt is of its job's tenant",
        "ALTER TABLE jobs_attempt DROP CONSTRAINT jobs_attempt_job_of_tenant",
        (PROMISED,),
    ),
    SqlMutant(
        "quota counters", "ALTER TABLE jobs_gpuquota DROP CONSTRAINT gpu_quota_within", (PROMISED,)
    ),
    SqlMutant(
        "the ledger only grows",
        "DROP TRIGGER energy_ledgerrow_append_only ON energy_ledgerrow",
        (f"{SETTLE}::test_rows_are_never_changed",),
    ),
    SqlMutant(
        "rows of others do not exist",
        "ALTER TABLE jobs_job DISABLE ROW LEVEL SECURITY",
        ("tests/jobs/test_isolation.py::test_the_rows_themselves_refuse",),
    ),
)

OF_THE_CODE = (
    # Moves and ends.
    TextMutant(
        "a job moves from an expected state", "jobs/lifecycle.py",
        "AND state = ANY(%(sources)s::text[])\n",
        "AND %(sources)s::text[] IS NOT NULL\n",
        (PROMISED,),
    ),
    TextMutant(
        "an attempt ends once", "jobs/attempts.py",
        "AND state NOT IN ('ended', 'lost')\n    RETURNING", "\n    RETURNING",
        (PROMISED,),
    ),
    TextMutant(
        "what has ended is not cancelled", "jobs/services/cancel.py",
        "    if job.state in TERMINAL:\n", "    if False:\n",
        ("tests/jobs/test_cancel.py::test_what_has_ended_cannot_be_cancelled",),
    ),
    # Requests that come twice.
    TextMutant(
        "a twin in flight waits", "rest/idempotency.py",
        "    if not locked:\n", "    if False:\n",
        (f"{KEYS}::test_a_twin_in_flight_is_told_to_wait",),
    ),
    TextMutant(
        "a key behind an old snapshot undoes the effect", "rest/idempotency.py",
        "            if cursor.rowcount != 1:\n", "            if False:\n",
        (f"{KEYS}::test_a_key_stored_behind_an_old_snapshot_undoes_the_second_effect",),
    ),
    TextMutant(
        "a key stands for one request", "rest/idempotency.py",
        "        if bytes(known_digest) != request_digest:\n", "        if False:\n",
        (f"{KEYS}::test_another_body_is_refused",),
    ),
    # Rounds.
    TextMutant(
        "one round at a time", "scheduling/lock.py",
        "        held = bool(cursor.fetchone()[0])\n", "        held = True\n",
        ("tests/scheduling/test_lock.py",),
    ),
    TextMutant(
        "only queued jobs start", "scheduling/apply/allocate.py",
        "AND cluster_id = %s AND state = 'queued'", "AND cluster_id = %s",
        (STALE,),
    ),
    TextMutant(
        "only ready nodes get work", "scheduling/apply/capacity.py",
        "AND cluster_id = %s AND state = 'ready' ORDER", "AND cluster_id = %s ORDER",
        (f"{ROUND}::test_entries_the_world_no_longer_allows_are_stale",),
    ),
    TextMutant(
        "a gang whole or not at all", "scheduling/apply/allocate.py",
        "if got[attempt_of[entry.job]] == _gpus(entry)}", "if got[attempt_of[entry.job]]}",
        (STALE,),
    ),
    TextMutant(
        "a plan is checked", "scheduling/round.py",
        "        if violations := check_plan(snapshot, plan):\n",
        "        if violations := check_plan(snapshot, plan)[:0]:\n",
        (f"{ROUND}::test_a_plan_that_breaks_an_invariant_is_refused_whole",),
    ),
    # Nodes that speak, and that do not.
    TextMutant(
        "the fence of a report", "engines/agents/incoming.py",
        "if held is None or held.fence != report.fence or held.part_state is None:",
        "if held is None or held.part_state is None:",
        (f"{AGENTS}/test_sync.py::test_a_stale_fence_and_a_foreign_attempt_are_told_to_stop",),
    ),
    TextMutant(
        "a part only moves forward", "engines/agents/incoming.py",
        "return _RANK[Part.State(report.state)] > _RANK[Part.State(self.state)]",
        "return report.state != self.state",
        (f"{AGENTS}/test_report_order.py",),
    ),
    TextMutant(
        "an end is on disk before it is acknowledged", "engines/agents/incoming.py",
        "write_progress(node_id, report, now, at_once=True)",
        "write_progress(node_id, report, now, at_once=False)",
        (f"{AGENTS}/test_sync.py::test_an_end_is_on_disk_before_it_is_acknowledged_and_progress_need_not_be",),
    ),
    TextMutant(
        "what nobody reports is not started again", "engines/agents/desired.py",
        "        and not held.unreported\n", "",
        (f"{AGENTS}/test_sync.py::test_what_an_agent_no_longer_knows_is_not_started_again_but_given_up_in_time",),
    ),
    TextMutant(
        "our own pause expires nothing", "engines/agents/loss.py",
        "        cursor.execute(_PAUSED, values)\n", "",
        (f"{AGENTS}/test_loss.py::test_our_own_pause_expires_nothing",),
    ),
    TextMutant(
        "the brake", "engines/agents/loss.py",
        "            if not _brake(cluster, granted, now):\n",
        "            if _brake(cluster, granted, now) is not None:\n",
        (f"{AGENTS}/test_loss.py::test_when_most_nodes_fall_silent_at_once_the_brake_is_on",),
    ),
    TextMutant(
        "an attempt lives as long as its run lease", "engines/agents/leases.py",
        "granted.run_lease_s + settings.RUN_MARGIN_S", "granted.node_lease_s",
        (f"{AGENTS}/test_loss.py::test_a_silent_node_is_lost_but_its_attempt_lives_until_the_run_lease_ends",),
    ),
    TextMutant(
        "registering raises the epoch", "engines/agents/registration.py",
        '        epoch=F("epoch") + 1,\n', "",
        (f"{AGENTS}/test_registration.py::test_coming_back_raises_the_epoch_and_revives_a_lost_node",),
    ),
    # Energy.
    TextMutant(
        "no stretch of a counter is owned twice", "energy/ledger/meters.py",
        "AND other.attempt_id <> reported.attempt_id\n", "AND false\n",
        (f"{SETTLE}::test_two_attempts_cannot_own_one_stretch",),
    ),
    # The agent.
    TextMutant(
        "an attempt is started once", "agent/run/attempts.py",
        "if not self.store.known(ref) and ref not in self.fenced", "if ref not in self.fenced",
        (SUPERVISOR,),
    ),
    TextMutant(
        "a GPU is handed on when it is free", "agent/run/start.py",
        "            if not self.attempts.blocked(attempt):\n", "            if attempt:\n",
        (SUPERVISOR,),
    ),
    TextMutant(
        "old answers start nothing", "agent/run/start.py",
        "if self.clock() >= self.may_start_until_s or self.lease.lapsed:",
        "if self.lease.lapsed:",
        (SUPERVISOR,),
    ),
    TextMutant(
        "without a lease nothing runs", "agent/run/stop.py",
        "        if self.lease.lapsed_for(run.attempt.attempt_id):\n", "        if False:\n",
        (SUPERVISOR,),
    ),
    TextMutant(
        "a late answer renews no lease", "agent/talk/messages.py",
        "        if self.clock() < sent_s + desired.run_lease_s:\n", "        if True:\n",
        ("tests/agent/test_messages.py",),
    ),
    TextMutant(
        "one shim takes the claim", "agent/run/shim.py",
        "    except FileExistsError:\n        return False\n",
        "    except FileExistsError:\n        return True\n",
        (f"{SHIM}::test_of_two_shims_one_runs_the_attempt",),
    ),
    TextMutant(
        "a shim watches the lease", "agent/run/shim.py",
        '        if now_s() >= lease["kill_at_s"] - grace_s:\n', "        if False:\n",
        (f"{SHIM}::test_a_lease_that_is_not_renewed_ends_even_the_stubborn",),
    ),
)  # fmt: skip

MUTANTS: tuple[Mutant, ...] = (*OF_THE_DATABASE, *OF_THE_CODE)
