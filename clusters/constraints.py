"""What each constraint of these tables means to a caller who runs into it."""

from rest.constraints import explain

NAME_TAKEN = "Another row has this name; choose another."
SLUG = "Lower-case letters, digits and inner dashes, at most 63."

# Constraint → code, pointer, detail.
RULES = {
    "clusters_cluster_name_key": ("name_taken", "/name", NAME_TAKEN),
    "cluster_name_is_slug": ("bad_name", "/name", SLUG),
    "cluster_round_interval": (
        "out_of_range",
        "/round_interval_s",
        "Rounds are 1 to 3600 seconds apart.",
    ),
    "cluster_pue": ("out_of_range", "/pue", "A PUE lies between 1 and 10."),
    "cluster_power_budget": ("out_of_range", "/power_budget_w", "A power budget is positive."),
    "cluster_energy_budget": (
        "out_of_range",
        "/energy_budget_wh",
        "An energy budget is positive.",
    ),
    "cluster_energy_period": (
        "half_a_budget",
        "/energy_period",
        "Give energy_budget_wh and energy_period, day or month, or neither.",
    ),
    "cluster_currency": ("bad_currency", "/currency", "Three capital letters, as in EUR."),
    "clusters_cluster_tariff_of_currency": (
        "currency_mismatch",
        "/currency",
        "A cluster and its tariff reckon in one currency.",
    ),
    "partition_name_taken": ("name_taken", "/name", NAME_TAKEN),
    "partition_name_is_slug": ("bad_name", "/name", SLUG),
    "partition_of_cluster": ("conflict", "/id", "This partition exists already."),
    "switch_name_taken": ("name_taken", "/name", NAME_TAKEN),
    "switch_name_is_slug": ("bad_name", "/name", SLUG),
    "switch_of_cluster": ("conflict", "/id", "This switch exists already."),
    "rack_name_taken": ("name_taken", "/name", NAME_TAKEN),
    "rack_name_is_slug": ("bad_name", "/name", SLUG),
    "rack_of_cluster": ("conflict", "/id", "This rack exists already."),
    "clusters_rack_switch_of_cluster": (
        "unknown_switch",
        "/switch",
        "A rack hangs on a switch of its own cluster, and a switch with racks stays.",
    ),
    "clusters_gputype_name_key": ("name_taken", "/name", NAME_TAKEN),
    "gpu_type_name": ("bad_name", "/name", "Letters, digits, dots, dashes, underscores."),
    "gpu_type_memory": ("out_of_range", "/memory_mib", "A GPU has some memory."),
    "gpu_type_watts": (
        "out_of_range",
        "/idle_w",
        "Idle watts are not negative and not above the maximum.",
    ),
    "node_name_taken": ("name_taken", "/name", "Another node of this cluster has this name."),
    "node_name_is_host": ("bad_name", "/name", "A host name in lower case."),
    "node_state": ("bad_state", "/state", "There is no such state of a node."),
    "node_cpus_within": ("below_use", "/cpus", "Work on the node holds more CPUs than that."),
    "node_memory_within": (
        "below_use",
        "/memory_mib",
        "Work on the node holds more memory than that.",
    ),
    "node_host_watts": (
        "out_of_range",
        "/host_idle_w",
        "The host's idle watts are not negative and not above its peak.",
    ),
    "clusters_node_token_id_key": ("conflict", "", "Another node speaks with this token."),
    "clusters_node_partition_of_cluster": (
        "unknown_partition",
        "/partition",
        "A node stands in a partition of its own cluster, and a partition with nodes stays.",
    ),
    "clusters_node_rack_of_cluster": (
        "unknown_rack",
        "/rack",
        "A node stands in a rack of its own cluster, and a rack with nodes stays.",
    ),
    "clusters_gpu_uuid_key": (
        "uuid_taken",
        "/gpu_uuids",
        "A GPU with one of these uuids is known already; each GPU stands in one node.",
    ),
    "gpu_index_taken": ("index_taken", "/index", "The node has a GPU at this index."),
    "gpu_index_range": ("out_of_range", "/index", "A node has at most 64 GPUs."),
    "clusters_jointoken_hash_key": ("conflict", "", "Try again: the secret was drawn before."),
    "gpu_quota_once": (
        "already_set",
        "/gpu_type",
        "The tenant has a quota on this type; change that one.",
    ),
    "gpu_quota_within": (
        "quota_below_use",
        "/gpus",
        "The quota may not be below the GPUs in use; wait or cancel jobs first.",
    ),
    "boot_once_per_node": ("conflict", "", "The node has told of this boot already."),
    "counter_once": ("conflict", "", "A GPU's counter of one boot is kept once."),
    "minute_once": ("conflict", "", "A GPU's minute is kept once."),
    "watch_is_one_row": ("conflict", "", "There is one watch over silent nodes."),
    "clusters_tariff_name_key": ("name_taken", "/name", NAME_TAKEN),
    "tariff_name_is_slug": ("bad_name", "/name", SLUG),
    "tariff_of_currency": ("conflict", "/id", "This tariff exists already."),
    "tariff_kind": ("bad_kind", "/kind", "A tariff is flat, time_of_use or hourly."),
    "tariff_flat_has_price": (
        "not_of_this_kind",
        "/price_per_kwh",
        "A flat tariff has one price, and no other kind has.",
    ),
    "tariff_currency": ("bad_currency", "/currency", "Three capital letters, as in EUR."),
    "tariff_demand_charge": (
        "out_of_range",
        "/demand_charge_per_kw",
        "A demand charge is not negative.",
    ),
    "tariff_hour_once": ("duplicated_hour", "/csv", "An hour has one price."),
    "clusters_tariffhour_on_the_hour": (
        "not_on_the_hour",
        "/csv",
        "Hours start on full hours of UTC.",
    ),
    "clusters_carbonseries_name_key": ("name_taken", "/name", NAME_TAKEN),
    "carbon_name_is_slug": ("bad_name", "/name", SLUG),
    "carbon_hour_once": ("duplicated_hour", "/csv", "An hour has one value."),
    "carbon_not_negative": ("out_of_range", "/csv", "Carbon intensity is not negative."),
    "clusters_carbonhour_on_the_hour": (
        "not_on_the_hour",
        "/csv",
        "Hours start on full hours of UTC.",
    ),
    "power_budget_watts": ("out_of_range", "/watts", "A power budget is positive."),
    "power_budget_window": ("window_over", "/ends_at", "A window ends after its start."),
    "power_budget_daily": (
        "half_a_day",
        "/to_minute",
        "Give two different minutes of the day, or none.",
    ),
    "power_state_once": ("conflict", "", "There is one state per cluster and partition."),
    "power_correction_lowers": ("out_of_range", "", "A correction is not negative."),
    "power_energy_counted": ("out_of_range", "", "Energy is counted from its period's start on."),
    "power_energy_drawn": ("out_of_range", "", "Energy that was drawn is not negative."),
    "power_breach_is_above": ("out_of_range", "", "A breach lies above its budget."),
    "clusters_powerbudget_partition_of_cluster": (
        "unknown_partition",
        "/partition",
        "A budget is for a partition of its own cluster.",
    ),
    "clusters_powerstate_partition_of_cluster": ("unknown_partition", "", "The partition is gone."),
    "clusters_powerbreach_partition_of_cluster": (
        "unknown_partition",
        "",
        "The partition is gone.",
    ),
}

# Plain foreign keys, checked at the commit: they speak when a row went, or came into use, between
# our look-up and the commit. The digits are Django's.
REFERENCES = {
    "clusters_boot_node_id_ac9118ba_fk_clusters_node_id": "",
    "clusters_gpucounter_boot_id_5bffb15a_fk_clusters_boot_id": "",
    "clusters_gpucounter_gpu_id_ef844282_fk_clusters_gpu_id": "",
    "clusters_sampleminute_boot_id_2d6860cc_fk_clusters_boot_id": "",
    "clusters_sampleminute_gpu_id_0a691be2_fk_clusters_gpu_id": "",
    "clusters_carbonhour_series_id_a92347dd_fk_clusters_": "/series",
    "clusters_cluster_carbon_series_id_84144bd8_fk_clusters_": "/carbon_series",
    "clusters_cluster_tariff_id_7189bf6e_fk_clusters_tariff_id": "/tariff",
    "clusters_gpu_node_id_99e53614_fk_clusters_node_id": "/node_id",
    "clusters_gpuquota_gpu_type_id_84eb9c01_fk_clusters_gputype_id": "/gpu_type",
    "clusters_gpuquota_tenant_id_cd19fa90_fk_tenancy_tenant_id": "/tenant_id",
    "clusters_jointoken_cluster_id_645922d6_fk_clusters_cluster_id": "/cluster",
    "clusters_jointoken_partition_id_a69f1541_fk_clusters_": "/partition",
    "clusters_jointoken_rack_id_93ae863b_fk_clusters_rack_id": "/rack",
    "clusters_jointoken_used_by_id_7e94dc6f_fk_clusters_node_id": "/used_by_node_id",
    "clusters_node_cluster_id_da46f92d_fk_clusters_cluster_id": "/cluster",
    "clusters_node_gpu_type_id_799fc253_fk_clusters_gputype_id": "/gpu_type",
    "clusters_node_token_id_c75d53c4_fk_tenancy_apitoken_id": "",
    "clusters_partition_cluster_id_4482de44_fk_clusters_cluster_id": "/cluster",
    "clusters_powerbreach_cluster_id_b264c9dc_fk_clusters_cluster_id": "",
    "clusters_powerbudget_cluster_id_5ec0ba67_fk_clusters_cluster_id": "",
    "clusters_powerstate_cluster_id_b906ccfb_fk_clusters_cluster_id": "",
    "clusters_rack_cluster_id_dd1f39c2_fk_clusters_cluster_id": "/cluster",
    "clusters_switch_cluster_id_0e1dc9ce_fk_clusters_cluster_id": "/cluster",
    "clusters_tariffhour_tariff_id_f7db616d_fk_clusters_tariff_id": "/tariff",
}


def explain_constraints() -> None:
    for name, (code, pointer, detail) in RULES.items():
        explain(name, code=code, pointer=pointer, detail=detail)
    detail = "What this row refers to has just gone, or has just come into use; read again."
    for name, pointer in REFERENCES.items():
        explain(name, code="reference_changed", pointer=pointer, detail=detail)
