"""What breaking each of this room's constraints means to a caller.

Most can only be broken by a race or a defect, since the shapes refuse the same values earlier.
"""

from rest.constraints import explain

_RULES: dict[str, tuple[str, str, str]] = {
    # What a caller can run into.
    "profile_name_taken": ("name_taken", "/name", "Another profile has this name."),
    "profile_name": ("invalid_name", "/name", "Letters, digits and ._/- make a profile's name."),
    "array_size": ("invalid_size", "/size", "An array has 1 to 10,000 jobs."),
    "job_gpus": ("invalid_gpus", "/gpus", "A job has 1 to 4096 GPUs, at least as many at most."),
    "job_shares": ("invalid_shares", "/cpus_per_gpu", "CPUs per GPU are 0 to 1024."),
    "job_span": ("invalid_span", "/span", "A span is node, rack, switch or any."),
    "job_priority": ("invalid_priority", "/priority", "A priority is 0 to 100."),
    "dependency_once": ("duplicate_dependency", "/depends_on", "A job is named twice."),
    "dependency_kind": ("invalid_kind", "/depends_on", "A kind is succeeded or ended."),
    "dependency_on_earlier_job": (
        "dependency_on_later_job",
        "/depends_on",
        "A job can only depend on jobs submitted before it.",
    ),
    # References that vanished, or that other rows still need.
    "jobs_job_tenant_id_47fdbf2d_fk_tenancy_tenant_id": (
        "unknown_tenant", "/tenant", "The tenant is gone, or still has jobs.",
    ),
    "jobs_job_cluster_id_e533c240_fk_clusters_cluster_id": (
        "unknown_cluster", "/cluster", "The cluster is gone, or still has jobs.",
    ),
    "jobs_job_partition_of_cluster": (
        "unknown_partition", "/partition", "The partition is gone, or still has jobs.",
    ),
    "jobs_job_profile_of_tenant": (
        "unknown_profile", "/profile", "The profile is gone, or still has jobs.",
    ),
    "jobs_job_array_of_tenant": ("unknown_array", "", "The array is gone, or still has jobs."),
    "jobs_jobdependency_on_job_of_tenant": (
        "unknown_job", "/depends_on", "A job it depends on is gone.",
    ),
    "jobs_profile_tenant_id_8bb0eaab_fk_tenancy_tenant_id": (
        "unknown_tenant", "/tenant", "The tenant is gone, or still has profiles.",
    ),
    "jobs_jobarray_tenant_id_2cb9455f_fk_tenancy_tenant_id": (
        "unknown_tenant", "/tenant", "The tenant is gone, or still has arrays.",
    ),
    "jobs_attempt_cluster_id_fd9b4a5a_fk_clusters_cluster_id": (
        "in_use", "", "The cluster still has attempts.",
    ),
    "jobs_attempt_tenant_id_abe9b018_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant still has attempts.",
    ),
    "jobs_allocation_gpu_id_9c93550e_fk_clusters_gpu_id": (
        "in_use", "", "The GPU was held by an attempt.",
    ),
    "jobs_allocation_node_id_d8380050_fk_clusters_node_id": (
        "in_use", "", "GPUs of the node were held by an attempt.",
    ),
    "jobs_allocation_tenant_id_879c693c_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant has held GPUs.",
    ),
    "jobs_attempt_job_of_tenant": ("in_use", "", "The job still has attempts."),
    "jobs_allocation_attempt_of_tenant": ("in_use", "", "The attempt has held GPUs."),
    "jobs_round_cluster_id_5bef8081_fk_clusters_cluster_id": (
        "in_use", "", "The cluster still has rounds.",
    ),
    "jobs_jobdependency_tenant_id_c37efb23_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant still has jobs.",
    ),
    "jobs_jobevent_tenant_id_e1f645f4_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant still has jobs.",
    ),
    "jobs_decision_tenant_id_6030e3a9_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant still has jobs.",
    ),
    "jobs_part_node_id_4af2719f_fk_clusters_node_id": (
        "in_use",
        "",
        "The node has run parts of attempts.",
    ),
    "jobs_part_tenant_id_27e927bf_fk_tenancy_tenant_id": (
        "in_use",
        "",
        "The tenant has run attempts.",
    ),
    "jobs_meter_boot_id_f84b2dee_fk_clusters_boot_id": (
        "in_use", "", "An attempt was metered in this boot.",
    ),
    "jobs_meter_gpu_id_a7983ffc_fk_clusters_gpu_id": (
        "in_use", "", "An attempt was metered on the GPU.",
    ),
    "jobs_meter_tenant_id_c9821b6b_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant has drawn energy.",
    ),
    "jobs_ledgerrow_cluster_id_8168f043_fk_clusters_cluster_id": (
        "in_use", "", "The ledger names the cluster.",
    ),
    "jobs_ledgerrow_gpu_id_08afa77a_fk_clusters_gpu_id": (
        "in_use", "", "The ledger names the GPU.",
    ),
    "jobs_ledgerrow_tenant_id_d82c9b5b_fk_tenancy_tenant_id": (
        "in_use", "", "The ledger names the tenant.",
    ),
    "jobs_log_node_id_459f04a8_fk_clusters_node_id": (
        "in_use", "", "Logs of the node's attempts are kept.",
    ),
    "jobs_log_tenant_id_6a8e50de_fk_tenancy_tenant_id": (
        "in_use", "", "Logs of the tenant's jobs are kept.",
    ),
    "jobs_logchunk_tenant_id_0e8248a9_fk_tenancy_tenant_id": (
        "in_use", "", "Logs of the tenant's jobs are kept.",
    ),
    "jobs_logchunk_log_id_a6f4e567_fk_jobs_log_id": ("log_gone", "", "The log is gone."),
    "jobs_meter_attempt_of_tenant": ("attempt_gone", "", "The attempt is gone."),
    "jobs_ledgerrow_attempt_of_tenant": ("in_use", "", "The ledger names the attempt."),
    "jobs_log_attempt_of_tenant": ("attempt_gone", "", "The attempt is gone."),
    # Two writers at once: the loser asks again.
    "meter_once_per_gpu": ("meter_exists", "", "The attempt has a meter on the GPU."),
    "log_once": ("log_exists", "", "The stream is kept already."),
    "log_chunk_once": ("log_exists", "", "The stream has bytes there already."),
    "one_holder_per_gpu": ("gpu_held", "", "Another attempt holds the GPU."),
    "one_live_attempt_per_job": ("attempt_lives", "", "The job already has a live attempt."),
    "attempt_number_once": ("attempt_lives", "", "The job has another attempt of this number."),
    "array_index_once": ("index_taken", "", "The array already has a job of this index."),
    "job_legal_move": ("illegal_move", "", "The job is no longer where it could move from."),
    "attempt_fence_grows": ("stale_fence", "", "A newer attempt has taken over."),
    "job_dependencies_counted": ("dependency_settled", "", "The dependency is already settled."),
    "jobs_jobdependency_job_of_tenant": ("job_gone", "", "The job is gone."),
    "jobs_jobevent_job_of_tenant": ("job_gone", "", "The job is gone."),
    "jobs_decision_job_of_tenant": ("job_gone", "", "The job is gone."),
    "jobs_decision_round_id_8a20ec38_fk_jobs_round_id": ("round_gone", "", "The round is gone."),
    "jobs_attempt_round_id_bed3a730_fk_jobs_round_id": ("round_gone", "", "The round is gone."),
    "part_once_per_node": ("part_exists", "", "The attempt already has a part on the node."),
    "jobs_part_attempt_of_tenant": ("attempt_gone", "", "The attempt is gone."),
    "fit_number_once": ("fit_exists", "", "The profile has been fitted just now."),
    "point_given_once": ("duplicate_point", "/points", "A configuration is given twice."),
    "point_once_per_attempt": ("point_exists", "", "The attempt has taught this already."),
    "jobs_profilingrun_job_id_key": ("run_exists", "", "The job is of another profiling run."),
    "jobs_profilefit_profile_of_tenant": ("profile_gone", "", "The profile is gone."),
    "jobs_profilepoint_profile_of_tenant": ("profile_gone", "", "The profile is gone."),
    "jobs_profilepoint_attempt_of_tenant": ("attempt_gone", "", "The attempt is gone."),
    "jobs_profilingrun_profile_of_tenant": ("profile_gone", "", "The profile is gone."),
    "jobs_profilingrun_job_of_tenant": ("in_use", "", "The job has measured a profile."),
    "jobs_profilefit_tenant_id_6ead5f7e_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant still has profiles.",
    ),
    "jobs_profilepoint_tenant_id_08fbe789_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant still has profiles.",
    ),
    "jobs_profilingrun_tenant_id_38cdb239_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant still has profiles.",
    ),
    "jobs_profilingrun_cluster_id_efdf69ef_fk_clusters_cluster_id": (
        "in_use", "", "Profiles were measured on the cluster.",
    ),
    # Shapes of stored rows, which no request writes.
    "point_source": ("invalid_source", "", "A point is given, measured or learned."),
    "point_configuration": ("invalid_point", "/points", "No GPU runs in such a configuration."),
    "point_figures": ("invalid_point", "/points", "A speed and watts are finite and above 0."),
    "fit_cause": ("invalid_cause", "", "A fit is asked for, or follows from measurements."),
    "profile_basis": ("invalid_basis", "", "A profile is neutral, measured or fitted."),
    "profiling_state": ("invalid_state", "", "There is no such state of a profiling run."),
    "profiling_ended_when_over": (
        "invalid_state", "", "A profiling run has an end exactly when it is over.",
    ),
    "meter_rises": ("invalid_meter", "", "A counter does not fall."),
    "meter_ends_after_start": ("invalid_meter", "", "A meter is read last after it is read first."),
    "ledger_window": ("invalid_window", "", "A window ends after it begins."),
    "ledger_coverage": ("invalid_coverage", "", "A coverage is 0 to 1."),
    "ledger_method": ("invalid_method", "", "Energy is counted or integrated."),
    "log_stream": ("invalid_stream", "", "A stream is stdout or stderr."),
    "job_state": ("invalid_state", "", "There is no such state of a job."),
    "job_ended_when_terminal": ("invalid_state", "", "A job has an end exactly when it ended."),
    "attempt_state": ("invalid_state", "", "There is no such state of an attempt."),
    "attempt_ended_when_over": (
        "invalid_state", "", "An attempt has an end exactly when it is over.",
    ),
    "attempt_relocation_until": ("invalid_state", "", "A place to go on at is kept for a time."),
    "part_ended_when_over": ("invalid_state", "", "A part has an end exactly when it is over."),
    "allocation_shares": ("invalid_shares", "", "CPUs and memory are not negative."),
    "round_gap": ("invalid_state", "", "A bound has a gap, not negative, and an objective."),
    "round_bound": ("invalid_state", "", "A bound is not above the objective."),
    "round_status": ("invalid_status", "", "A round is done or failed."),
    "job_of_tenant": ("duplicate_id", "", "The id is taken."),
    "array_of_tenant": ("duplicate_id", "", "The id is taken."),
    "profile_of_tenant": ("duplicate_id", "", "The id is taken."),
    "attempt_of_tenant": ("duplicate_id", "", "The id is taken."),
    "jobs_attempt_fence_key": ("duplicate_fence", "", "The fence is taken."),
}  # fmt: skip


def explain_constraints() -> None:
    for constraint, (code, pointer, detail) in _RULES.items():
        explain(constraint, code=code, pointer=pointer, detail=detail)
