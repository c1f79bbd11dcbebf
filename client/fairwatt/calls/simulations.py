"""What would happen: policies on traces, and budgets of power."""

from fairwatt.call import Call, Flow, Item, Pause, Stream, get, post
from fairwatt.calls.clusters import cluster_named
from fairwatt.operation import Asker, operation, procedure, stream
from fairwatt.retry import ask
from fairwatt.structs.whatif import (
    PowerBudget,
    PowerBudgetSpec,
    Results,
    Simulation,
    SimulationDetail,
    SimulationSpec,
)

POLL_S = 0.5


class SimulationCalls(Asker):
    @operation
    def simulate(self, spec: SimulationSpec, *, key: str | None = None) -> Call[Simulation]:
        """Try policies on jobs of a trace, of a model, or of the live queue.

        >>> spec = fairwatt.SimulationSpec(
        ...     policies=[fairwatt.PolicyChoice(name="fifo"), fairwatt.PolicyChoice(name="srtf")],
        ...     generate=fairwatt.Generate(jobs=20, load=0.8),
        ...     machines=fairwatt.Machines(nodes=[fairwatt.Nodes(count=2, gpus=8)]),
        ... )
        >>> simulation = client.simulate(spec)
        """
        return post("simulations/", Simulation, spec, key=key)

    @operation
    def simulation(self, simulation_id: int) -> Call[SimulationDetail]:
        """How far a simulation is.

        >>> len(client.simulation(simulation.id).runs)
        2
        """
        return get(f"simulations/{simulation_id}/", SimulationDetail)

    @stream
    def simulation_progress(self, simulation_id: int) -> Stream[SimulationDetail]:
        """The simulation, again and again, until it is over.

        >>> *_, last = client.simulation_progress(simulation.id)
        >>> last.state
        <WorkState.SUCCEEDED: 'succeeded'>
        """
        while True:
            call = get(f"simulations/{simulation_id}/", SimulationDetail)
            found = yield from ask(call, self.following)
            yield Item(found)
            if found.state.ended:
                return
            yield Pause(POLL_S)

    @operation
    def simulation_results(self, simulation_id: int) -> Call[Results]:
        """Figures of every run, and per policy their mean with an interval over the seeds.

        >>> {row.label for row in client.simulation_results(simulation.id).rows} == {"fifo", "srtf"}
        True
        """
        return get(f"simulations/{simulation_id}/results/", Results)

    @operation
    def simulation_report(self, simulation_id: int) -> Call[bytes]:
        """One HTML page with tables and plots.

        >>> client.simulation_report(simulation.id)[:15]
        b'<!doctype html>'
        """
        call = get(f"simulations/{simulation_id}/report/", bytes)
        return Call(call.method, call.path, bytes, headers={"Accept": "text/html"})

    @operation
    def cancel_simulation(self, simulation_id: int) -> Call[Simulation]:
        """End what waits of a simulation, and soon what runs.

        >>> client.cancel_simulation(client.simulate(spec).id).id > simulation.id
        True
        """
        return post(f"simulations/{simulation_id}/cancel/", Simulation)

    @procedure
    def power_budget(
        self, spec: PowerBudgetSpec, *, cluster: str | None = None, key: str | None = None
    ) -> Flow[PowerBudget]:
        """Ask what a power budget would do (`dry_run=True`), or order it (operators).

        >>> answer = operator.power_budget(fairwatt.PowerBudgetSpec(watts=9000, dry_run=True))
        >>> answer.id is None
        True
        """
        found = yield from cluster_named(self, cluster)
        call = post(f"clusters/{found.id}/power-budget/", PowerBudget, spec, key=key)
        return (yield from self.ask(call))
