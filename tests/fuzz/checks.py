"""What schemathesis checks; everything is on, and a status added below says why it is fine."""

from typing import Any

CHECKS: dict[str, Any] = {
    "positive_data_acceptance": {
        # 409: the present state refuses it. 412: a drawn ETag is not the row's. 422: each value
        # fits the schema, together they contradict each other. 400 is never right here.
        "expected-statuses": ["2xx", "304", "401", "403", "404", "409", "412", "422"],
    },
    "negative_data_rejection": {
        # 412: the precondition is looked at before the rest. 413: some drawn bodies are large.
        "expected-statuses": [
            *("400", "401", "403", "404", "405", "406", "409", "412", "413", "415", "422", "428"),
        ],
    },
    "missing_required_header": {
        # 428: RFC 6585's own answer to a missing If-Match; 403 and 404 come before it.
        "expected-statuses": ["400", "401", "403", "404", "428"],
    },
}
# Its probes add cases to a chain while schemathesis 4.32 walks over it, which ends the chain with
# a RuntimeError; single requests are checked with it, and tests/live/test_isolation.py does more.
CHECKS_OF_CHAINS: dict[str, Any] = {"ignored_auth": {"enabled": False}}
