"""What jobs drew and cost."""

from datetime import datetime

from fairwatt.call import Call, Flow, get
from fairwatt.calls.clusters import cluster_named
from fairwatt.errors import FairwattError
from fairwatt.operation import Asker, operation, procedure
from fairwatt.structs.energy import Costs, JobEnergy, Statement
from fairwatt.structs.tenancy import Me

LINES = 1000


class EnergyCalls(Asker):
    @operation
    def cost(self, job_id: int) -> Call[JobEnergy]:
        """The receipt of a job: joules and money, by attempt, by meter, by hour of the tariff.

        >>> receipt = client.cost(done.id)
        >>> receipt.job_id == done.id
        True
        """
        return get(f"jobs/{job_id}/energy/", JobEnergy)

    @procedure
    def statement(
        self,
        *,
        tenant_id: int | None = None,
        from_at: datetime | None = None,
        until_at: datetime | None = None,
    ) -> Flow[Statement]:
        """What a tenant owes for a span of time; the token's own, if none is named.

        >>> client.statement().tenant == client.me().tenant_name
        True
        """
        whose = tenant_id if tenant_id is not None else (yield from _own_tenant(self))
        path, cursor = f"tenants/{whose}/statement/", None
        lines = []
        while True:
            query = {"from": from_at, "to": until_at, "limit": LINES, "cursor": cursor}
            page = yield from self.ask(get(path, Statement, **query))
            lines += page.lines
            cursor = page.next
            if cursor is None:
                return Statement(page.tenant, page.from_at, page.until_at, page.totals, lines, None)

    @procedure
    def costs(self, *, cluster: str | None = None) -> Flow[Costs]:
        """Predicted against actual cost of a cluster's jobs (operators).

        >>> operator.costs().cluster
        'demo'
        """
        found = yield from cluster_named(self, cluster)
        return (yield from self.ask(get(f"clusters/{found.id}/costs/", Costs)))


def _own_tenant(asker: Asker) -> Flow[int]:
    me = yield from asker.ask(get("me/", Me))
    if me.tenant_id is None:
        raise FairwattError("This token belongs to no tenant.", "Say whose statement: tenant_id.")
    return me.tenant_id
