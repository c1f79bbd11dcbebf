"""Submits a job, waits for its end and reads its cost, by a client made from the published schema.

openapi-python-client generate --meta none --output-path fairwatt_client \
    --url "$URL/api/v1/schema/?format=json"
python3 typed_submit.py $URL $TOKEN demo
"""

import json
import sys
import time

from fairwatt_client.api.energy import job_energy_retrieve
from fairwatt_client.api.jobs import jobs_create, jobs_retrieve
from fairwatt_client.client import AuthenticatedClient
from fairwatt_client.models import JobMadeOut, JobSpec

ENDED = {"succeeded", "failed", "cancelled"}


def main(url: str, token: str, cluster: str) -> None:
    client = AuthenticatedClient(base_url=url, token=token)
    spec = JobSpec(name="typed", cluster=cluster, gpus=1, argv=["python3", "-c", "print(1)"])
    made = jobs_create.sync(client=client, body=spec)
    if not isinstance(made, JobMadeOut):
        sys.exit(f"refused: {made}")
    state = made.state
    while state not in ENDED:
        time.sleep(0.5)
        state = jobs_retrieve.sync(made.id, client=client).state
    cost = job_energy_retrieve.sync(made.id, client=client)
    totals = [total.to_dict() for total in cost.totals]
    told = {"id": made.id, "state": state, "cost_of": cost.job_id, "totals": totals}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
