"""What breaking each of this room's constraints means to a caller.

Most can only be broken by a race or a defect, since the shapes refuse the same values earlier.
"""

from rest.constraints import explain

_RULES: dict[str, tuple[str, str, str]] = {
    # References that vanished, or that other rows still need.
    "jobs_round_cluster_id_5bef8081_fk_clusters_cluster_id": (
        "in_use", "", "The cluster still has rounds.",
    ),
    "jobs_decision_tenant_id_6030e3a9_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant still has jobs.",
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
    "jobs_meter_attempt_of_tenant": ("attempt_gone", "", "The attempt is gone."),
    "jobs_ledgerrow_attempt_of_tenant": ("in_use", "", "The ledger names the attempt."),
    # Two writers at once: the loser asks again.
    "meter_once_per_gpu": ("meter_exists", "", "The attempt has a meter on the GPU."),
    "jobs_decision_job_of_tenant": ("job_gone", "", "The job is gone."),
    "jobs_decision_round_id_8a20ec38_fk_jobs_round_id": ("round_gone", "", "The round is gone."),
    # Shapes of stored rows, which no request writes.
    "meter_rises": ("invalid_meter", "", "A counter does not fall."),
    "meter_ends_after_start": ("invalid_meter", "", "A meter is read last after it is read first."),
    "ledger_window": ("invalid_window", "", "A window ends after it begins."),
    "ledger_coverage": ("invalid_coverage", "", "A coverage is 0 to 1."),
    "ledger_method": ("invalid_method", "", "Energy is counted or integrated."),
    "round_gap": ("invalid_state", "", "A bound has a gap, not negative, and an objective."),
    "round_bound": ("invalid_state", "", "A bound is not above the objective."),
    "round_status": ("invalid_status", "", "A round is done or failed."),
}  # fmt: skip


def explain_constraints() -> None:
    for constraint, (code, pointer, detail) in _RULES.items():
        explain(constraint, code=code, pointer=pointer, detail=detail)
