"""Who had better wait for cheaper energy: a job with a due date that a cheap night still keeps.

Starting later is judged as the objective judges a postponed job: by its slowest time, with rho. So
a job is put off only while even that keeps its due date, or hardly misses it, and energy then costs
clearly less. With one price for all hours nobody waits.
"""

import numpy as np

from policies.andreas.formulate import Formulated
from policies.andreas.parameters import AndreasParameters
from policies.contract.columns import F64

# A start this near is no deferral: prices change on the minute, rounds happen in between.
SOON_S = 1.0


def start_later_s(formulated: Formulated, parameters: AndreasParameters) -> F64:
    """Per job the seconds from now at which it had better start; nan for at once."""
    problem, known, line = formulated.problem, formulated.configurations.ways, formulated.line
    later_s = np.full(len(formulated.rows), np.nan)
    starts_s = line.at_s[(line.at_s > SOON_S) & (line.at_s <= parameters.most_deferral_s)]
    starts_s = starts_s[starts_s < line.known_s]
    if not len(starts_s) or not len(known.job):
        return later_s
    watts = _watts(formulated)
    runs = len(formulated.rows)

    def cheapest(from_s: float) -> F64:
        """Per job the energy of its cheapest configuration in time, else of its fastest."""
        found = np.full(runs, np.inf)
        money = watts * line.cost(from_s, from_s + known.run_s)
        unsure = from_s + known.run_s > line.known_s
        in_time = from_s + known.run_s <= problem.job_slack_s[known.job]
        np.minimum.at(found, known.job, np.where(in_time & ~unsure, money, np.inf))
        return found

    now = cheapest(0.0)
    best = np.where(np.isfinite(now), now * (1 - parameters.deferral_gain), -np.inf)
    for from_s in starts_s.tolist():
        late_s = np.maximum(from_s + problem.job_slowest_s - problem.job_slack_s, 0.0)
        total = cheapest(from_s) + parameters.rho * problem.job_weight * late_s
        better = (total < best) & np.isfinite(problem.job_slack_s)
        later_s[better], best = from_s, np.where(better, total, best)
    return later_s


def _watts(formulated: Formulated) -> F64:
    problem, known = formulated.problem, formulated.configurations.ways
    kinds = problem.job_budget_w.shape[1]
    base_w, host_w = np.zeros(kinds), np.zeros(kinds)
    kind = formulated.machines.class_type[problem.node_class]
    base_w[kind[::-1]], host_w[kind[::-1]] = problem.node_base_w[::-1], problem.node_host_w[::-1]
    return np.asarray(
        problem.config_w + base_w[known.gpu_type] + known.gpus * host_w[known.gpu_type]
    )
