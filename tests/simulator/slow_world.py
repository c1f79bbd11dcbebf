"""The world again, slow and obvious: objects, scans, and sums over every interval of time."""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from policies.contract.plan import Piece, Plan
from policies.contract.policy import Policy
from policies.contract.snapshot import (
    JobState,
    JobTable,
    NodeState,
    NodeTable,
    Placements,
    PriceTable,
    Snapshot,
    TenantTable,
)
from policies.pricing.curve import PriceCurve
from policies.pricing.published import HORIZON_S
from simulator.engine import Pace
from simulator.setting import Setting


@dataclass
class SlowJob:
    row: int
    submitted_s: float
    work: float
    state: str = "coming"
    done: float = 0.0
    pieces: tuple[Piece, ...] = ()
    started_s: float = math.nan
    since_s: float = 0.0
    resumes_s: float = 0.0
    rate: float = 0.0
    done_s: float = math.inf
    finish_s: float = math.inf
    release_s: float = math.inf
    attained_gpu_s: float = 0.0
    finished_s: float = math.nan
    started_before: bool = False
    held_gpu_s: float = 0.0
    lost_gpu_s: float = 0.0
    joules: float = 0.0
    money: float = 0.0
    grams: float = 0.0
    preemptions: int = 0
    migrations: int = 0
    failures: int = 0

    @property
    def gpus(self) -> int:
        return sum(piece.gpus.bit_count() for piece in self.pieces)

    def done_at(self, now_s: float) -> float:
        return min(self.done + self.rate * max(now_s - self.resumes_s, 0.0), self.work)


@dataclass
class SlowWorld:
    setting: Setting
    policy: Policy
    pace: Pace
    idle_joules: float = 0.0
    idle_money: float = 0.0
    idle_grams: float = 0.0
    rounds: int = 0
    jobs: list[SlowJob] = field(default_factory=list)

    def run(self) -> None:
        setting = self.setting
        self.now_s = setting.origin_s
        self.node_state = [NodeState.READY] * len(setting.machines.nodes)
        self.jobs = [
            SlowJob(row, float(s), float(w), since_s=self.now_s, resumes_s=self.now_s)
            for row, (s, w) in enumerate(
                zip(setting.jobs.submitted_s, setting.jobs.work, strict=True)
            )
        ]
        self.outages = [
            event
            for at_s, node, up_s in setting.outages
            if up_s > self.now_s
            for event in ((max(at_s, self.now_s), 1, node), (up_s, 0, node))
        ]
        tick, changed, changed_s = 0, False, self.now_s
        while any(job.state != "finished" for job in self.jobs):
            event_s = self.next_event_s()
            waiting = any(job.state == "queued" for job in self.jobs)
            round_s = math.inf
            while self.tick_s(tick) < self.now_s:
                tick += 1
            if waiting and self.pace.on_events and changed:
                round_s = self.now_s
            elif waiting and math.isfinite(self.pace.interval_s):
                round_s = self.tick_s(tick)
            if event_s == math.inf and round_s > changed_s + self.pace.patience_s:
                break
            if round_s < event_s:
                self.live_until(round_s)
                tick += self.tick_s(tick) == round_s
                changed = self.hold_round()
                if changed or any(job.pieces for job in self.jobs):
                    changed_s = self.now_s
            else:
                self.live_until(event_s)
                self.happen()
                changed = True

    def tick_s(self, tick: int) -> float:
        interval_s = self.pace.interval_s
        return self.setting.origin_s + tick * interval_s if math.isfinite(interval_s) else math.inf

    def next_event_s(self) -> float:
        times = [self.setting.jobs.submitted_s[j.row] for j in self.jobs if j.state == "coming"]
        times += [job.finish_s for job in self.jobs if job.state == "running"]
        times += [job.release_s for job in self.jobs if job.state == "stopping"]
        times += [at_s for at_s, _, _ in self.outages]
        return float(min(times, default=math.inf))

    def live_until(self, to_s: float) -> None:
        """Count what every interval costs, hour by hour."""
        setting = self.setting
        for job in self.jobs:
            if job.state in ("running", "stopping"):
                seconds = to_s - self.now_s
                job.held_gpu_s += job.gpus * seconds
                progress_s = max(min(to_s, job.done_s) - max(self.now_s, job.resumes_s), 0.0)
                if job.state == "stopping":
                    progress_s = 0.0
                job.lost_gpu_s += job.gpus * (seconds - progress_s)
                watts = self.watts(job) * setting.pue
                job.joules += watts * seconds
                job.money += self.priced(setting.price, watts, to_s)
                job.grams += self.priced(setting.carbon, watts, to_s)
        nodes, types = setting.machines.nodes, setting.machines.gpu_types
        for node, state in enumerate(self.node_state):
            if state != NodeState.OFF:
                watts = float(nodes.host_idle_w[node])
                watts += int(nodes.gpus[node]) * float(types.idle_w[nodes.gpu_type[node]])
                watts *= setting.pue
                self.idle_joules += watts * (to_s - self.now_s)
                self.idle_money += self.priced(setting.price, watts, to_s)
                self.idle_grams += self.priced(setting.carbon, watts, to_s)
        self.now_s = to_s

    def priced(self, curve: PriceCurve | None, watts: float, to_s: float) -> float:
        if curve is None:
            return 0.0
        total, at_s = 0.0, self.now_s
        while at_s < to_s:
            hour_ends_s = min(math.floor(at_s / 3600) * 3600 + 3600, to_s)
            total += watts * float(curve.price_at(at_s)) * (hour_ends_s - at_s) / 3.6e6
            at_s = hour_ends_s
        return total

    def watts(self, job: SlowJob) -> float:
        nodes, types = self.setting.machines.nodes, self.setting.machines.gpu_types
        total = 0.0
        for piece in job.pieces:
            kind = nodes.gpu_type[piece.node]
            host_w = (nodes.host_peak_w[piece.node] - nodes.host_idle_w[piece.node]) / nodes.gpus[
                piece.node
            ]
            total += piece.gpus.bit_count() * float(types.max_w[kind] - types.idle_w[kind] + host_w)
        return total

    def happen(self) -> None:
        for job in self.jobs:
            if job.state == "running" and job.finish_s <= self.now_s:
                self.leave(job)
                job.state, job.finished_s = "finished", self.now_s
        for job in self.jobs:
            if job.state == "stopping" and job.release_s <= self.now_s:
                self.leave(job)
                self.requeue(job)
        for at_s, goes_down, node in sorted(self.outages):
            if at_s <= self.now_s:
                self.outages.remove((at_s, goes_down, node))
                self.node_state[node] = NodeState.UNAVAILABLE if goes_down else NodeState.READY
                if goes_down:
                    self.fail(node)
        for job in self.jobs:
            if job.state == "coming" and job.submitted_s <= self.now_s:
                job.state = "queued"

    def fail(self, node: int) -> None:
        for job in self.jobs:
            if any(piece.node == node for piece in job.pieces):
                job.failures += 1
                self.interrupt(job, saves=job.state == "stopping")
                self.requeue(job)

    def leave(self, job: SlowJob) -> None:
        job.attained_gpu_s += job.gpus * (self.now_s - job.since_s)
        job.pieces, job.rate = (), 0.0
        job.since_s = job.resumes_s = self.now_s

    def interrupt(self, job: SlowJob, *, saves: bool) -> None:
        every_s = self.setting.costs.checkpoint_every_s
        done = job.done_at(self.now_s)
        kept = done
        if not saves:
            progress_s = max(self.now_s - job.resumes_s, 0.0)
            whole = progress_s // every_s * every_s if math.isfinite(every_s) else 0.0
            kept = min(job.done + job.rate * whole, job.work)
        if done > kept:
            job.lost_gpu_s += (done - kept) / job.rate * job.gpus
        self.leave(job)
        job.done = kept

    def requeue(self, job: SlowJob) -> None:
        job.state, job.started_s = "queued", math.nan

    def place(self, job: SlowJob, pieces: tuple[Piece, ...], idle_s: float) -> None:
        costs, nodes = self.setting.costs, self.setting.machines.nodes
        for piece in pieces:
            assert self.free(piece.node) & piece.gpus == piece.gpus
        job.pieces = pieces
        job.rate = 1.0
        where = [piece.node for piece in pieces]
        if len(where) > 1:
            slowdown = costs.slowdown_across
            if nodes.switch[where[0]] >= 0 and len({int(nodes.switch[n]) for n in where}) == 1:
                slowdown = costs.slowdown_in_switch
            if nodes.rack[where[0]] >= 0 and len({int(nodes.rack[n]) for n in where}) == 1:
                slowdown = costs.slowdown_in_rack
            job.rate = 1.0 - slowdown
        job.since_s, job.resumes_s = self.now_s, self.now_s + idle_s
        job.done_s = job.resumes_s + (job.work - job.done) / job.rate
        job.finish_s = job.done_s + costs.end_s

    def free(self, node: int) -> int:
        mask = (1 << int(self.setting.machines.nodes.gpus[node])) - 1
        for job in self.jobs:
            for piece in job.pieces:
                if piece.node == node:
                    mask &= ~piece.gpus
        return mask

    def hold_round(self) -> bool:
        plan = self.policy.plan(self.snapshot())
        self.rounds += 1
        return self.apply(plan)

    def apply(self, plan: Plan) -> bool:
        costs, changed = self.setting.costs, False
        for start in plan.starts:
            job = self.jobs[start.job]
            self.place(job, start.pieces, costs.restart_s if job.started_before else costs.start_s)
            job.state, job.started_s, job.started_before = "running", self.now_s, True
        for move in plan.moves:
            job = self.jobs[move.job]
            self.interrupt(job, saves=costs.saves_on_stop)
            pause_s = costs.restart_s + (costs.checkpoint_s if costs.saves_on_stop else 0.0)
            self.place(job, move.pieces, pause_s)
            job.started_s = self.now_s
            job.migrations += 1
            changed = True
        for preempt in plan.preempts:
            job = self.jobs[preempt.job]
            pieces = job.pieces
            self.interrupt(job, saves=costs.saves_on_stop)
            job.preemptions += 1
            if costs.saves_on_stop and costs.checkpoint_s:
                job.pieces, job.state = pieces, "stopping"
                job.resumes_s = math.inf
                job.release_s = self.now_s + costs.checkpoint_s
            else:
                self.requeue(job)
                changed = True
        return changed

    def snapshot(self) -> Snapshot:
        setting = self.setting
        live = [job for job in self.jobs if job.state in ("queued", "running", "stopping")]
        rows = [job.row for job in live]
        given = setting.jobs.rows(np.array(rows, np.int64))
        believed = setting.believed_work[rows]
        done = np.array([j.done + j.rate * max(self.now_s - j.resumes_s, 0.0) for j in live])
        left = np.maximum(believed - done, 0.0)
        states = {"queued": JobState.QUEUED, "running": JobState.RUNNING}
        jobs = JobTable.of(
            id=rows,
            tenant=given.tenant,
            partition=given.partition,
            state=[states.get(job.state, JobState.STOPPING) for job in live],
            priority=given.priority,
            submitted_s=given.submitted_s,
            deadline_s=given.deadline_s,
            tardiness_weight=given.tardiness_weight,
            min_gpus=given.gpus,
            max_gpus=given.max_gpus,
            gpu_types=given.gpu_types,
            cpus_per_gpu=given.cpus_per_gpu,
            mem_mib_per_gpu=given.mem_mib_per_gpu,
            span=given.span,
            preemptible=given.preemptible,
            work_total=believed,
            work_left=left,
            attained_gpu_s=[j.attained_gpu_s + j.gpus * (self.now_s - j.since_s) for j in live],
            est_total_s=believed,
            est_run_s=left,
            started_s=[job.started_s for job in live],
            checkpoint_s=[self.checkpoint_s(job) for job in live],
            restart_cost_s=np.full(
                len(live),
                setting.costs.restart_s
                + (setting.costs.checkpoint_s if setting.costs.saves_on_stop else 0.0),
            ),
        )
        pieces = [piece for job in live for piece in job.pieces]
        placements = Placements.of(
            offset=np.concatenate([[0], np.cumsum([len(job.pieces) for job in live])]),
            node=[piece.node for piece in pieces],
            gpus=np.array([piece.gpus for piece in pieces], np.uint64),
            cpus=[piece.cpus for piece in pieces],
            mem_mib=[piece.mem_mib for piece in pieces],
        )
        return Snapshot(
            now_s=self.now_s,
            seed=(setting.seed * 1_000_003 + self.rounds) % 2**63,
            pue=setting.pue,
            power_budget_w=setting.power_budget_w,
            jobs=jobs,
            placements=placements,
            nodes=self.node_table(),
            gpu_types=setting.machines.gpu_types,
            partitions=setting.machines.partitions,
            tenants=self.tenant_table(),
            profiles=setting.profiles,
            prices=self.prices(),
        )

    def checkpoint_s(self, job: SlowJob) -> float:
        if not job.pieces:
            return math.nan
        if self.setting.costs.saves_on_stop:
            return self.now_s
        every_s = self.setting.costs.checkpoint_every_s
        progress_s = max(self.now_s - job.resumes_s, 0.0)
        whole = math.floor(progress_s / every_s) * every_s if math.isfinite(every_s) else 0.0
        return job.resumes_s + whole

    def node_table(self) -> NodeTable:
        nodes = self.setting.machines.nodes
        held = [(piece, job) for job in self.jobs for piece in job.pieces]
        rows = range(len(nodes))
        return NodeTable.of(
            id=nodes.id,
            state=self.node_state,
            partition=nodes.partition,
            gpu_type=nodes.gpu_type,
            gpus=nodes.gpus,
            free_gpus=np.array([self.free(node) for node in rows], np.uint64),
            cpus=nodes.cpus,
            free_cpus=[nodes.cpus[n] - sum(p.cpus for p, _ in held if p.node == n) for n in rows],
            mem_mib=nodes.mem_mib,
            free_mem_mib=[
                nodes.mem_mib[n] - sum(p.mem_mib for p, _ in held if p.node == n) for n in rows
            ],
            rack=nodes.rack,
            switch=nodes.switch,
            host_idle_w=nodes.host_idle_w,
            host_peak_w=nodes.host_peak_w,
        )

    def tenant_table(self) -> TenantTable:
        tenants, kinds = self.setting.tenants, len(self.setting.machines.gpu_types)
        used = np.zeros((len(tenants), kinds), np.int64)
        for job in self.jobs:
            for piece in job.pieces:
                kind = self.setting.machines.nodes.gpu_type[piece.node]
                used[self.setting.jobs.tenant[job.row], kind] += piece.gpus.bit_count()
        return TenantTable.of(
            id=tenants.id,
            weight=tenants.weight,
            quota_gpus=tenants.quota_gpus,
            used_gpus=used.sum(axis=1),
            quota_by_type=tenants.quota_by_type,
            used_by_type=used,
            energy_left_j=tenants.energy_left_j,
        )

    def prices(self) -> PriceTable:
        curve, carbon = self.setting.price, self.setting.carbon
        if curve is None:
            return PriceTable.unknown()
        edges = [float(s) for s in curve.edges_s]
        until_s = min(self.now_s // 3600 * 3600 + HORIZON_S, edges[-1])
        seen = [s for s, end in itertools.pairwise(edges) if end > self.now_s and s < until_s]
        prices = [float(curve.price_at(s)) for s in seen]
        if not seen:
            return PriceTable.unknown()
        seen, prices = [*seen, until_s], [*prices, math.nan]
        grams = [math.nan if carbon is None else float(carbon.price_at(s)) for s in seen]
        return PriceTable.of(from_s=seen, price_per_kwh=prices, carbon_g_per_kwh=grams)
