"""What breaking each of this room's constraints means to a caller."""

from rest.constraints import explain

_RULES: dict[str, tuple[str, str, str]] = {
    # Two at once: the loser asks again.
    "one_live_forecast_per_cluster": ("forecast_under_way", "", "A forecast is being made."),
    "forecast_job_once": ("forecast_made", "", "The forecast has been made."),
    "run_number_once": ("run_exists", "", "The simulation has this run already."),
    # References that vanished, or that other rows still need.
    "whatif_simulation_cluster_id_dd979de6_fk_clusters_cluster_id": (
        "unknown_cluster", "/cluster", "The cluster is gone, or still has simulations.",
    ),
    "whatif_forecast_cluster_id_711aaff7_fk_clusters_cluster_id": (
        "unknown_cluster", "", "The cluster is gone, or still has forecasts.",
    ),
    "whatif_simulation_tenant_id_78acfd5b_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant is gone, or still has simulations.",
    ),
    "whatif_simulation_requested_by_id_03ccca48_fk_tenancy_a": (
        "in_use", "", "The token is gone, or has asked for simulations.",
    ),
    "whatif_simulationrun_tenant_id_51025b03_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant is gone, or still has simulations.",
    ),
    "whatif_forecastjob_tenant_id_105657dd_fk_tenancy_tenant_id": (
        "in_use", "", "The tenant is gone, or still has forecasts.",
    ),
    "whatif_forecastjob_forecast_id_5eae6c2f_fk_whatif_forecast_id": (
        "forecast_gone", "", "The forecast is gone.",
    ),
    "whatif_forecastjob_job_of_tenant": ("job_gone", "", "The job is gone."),
    "whatif_simulationrun_simulation_of_tenant": (
        "simulation_gone", "", "The simulation is gone.",
    ),
    "whatif_simulationrun_simulation_fk": ("simulation_gone", "", "The simulation is gone."),
    # Shapes of stored rows, which no request writes.
    "simulation_kind": ("invalid_kind", "", "A simulation is of a trace or live."),
    "simulation_of_tenant": ("duplicate_id", "", "The id is taken."),
    "simulation_ended_when_over": ("invalid_state", "", "It has an end exactly when it is over."),
    "run_ended_when_over": ("invalid_state", "", "It has an end exactly when it is over."),
    "forecast_ended_when_over": ("invalid_state", "", "It has an end exactly when it is over."),
}  # fmt: skip


def explain_constraints() -> None:
    for name, (code, pointer, detail) in _RULES.items():
        explain(name, code=code, pointer=pointer, detail=detail)
