"""What to do next, by the code of a refusal; where no code fits, by its status."""

BY_CODE = {
    "missing_right": "Ask an operator, or use a token with that right: `fairwatt login`.",
    "tenant_suspended": "Ask an operator to resume the tenant; reading still works.",
    "unknown_cluster": "`fairwatt nodes` and `fairwatt policy` show the clusters there are.",
    "idempotency_key_reused": "Use another key, or send the same body again.",
    "job_not_queued": "It has started already: `fairwatt show ID` says where it is.",
    "deadline_passed": "Give a deadline that lies ahead.",
    "no_log": "It has not printed yet: `fairwatt why ID` says whether it runs.",
    "delivery_pending": "Wait: `fairwatt webhook deliveries` says how it goes.",
    "url_taken": "`fairwatt webhook ls` shows it; `fairwatt webhook rm` deletes one.",
    "private_address": "Give a public address, or ask an operator to set WEBHOOK_NETWORKS.",
    "filter_missing": "Name the jobs to cancel, or at least one filter.",
}
BY_STATUS = {
    400: "Correct what is named and send it again.",
    401: "The token is missing, wrong, expired or revoked: `fairwatt login` takes a new one.",
    403: "Ask an operator, or use another token: `fairwatt login`.",
    404: "Check the number: `fairwatt ls` shows your jobs.",
    409: "Look at its present state, then try again.",
    412: "Somebody changed it meanwhile: read it again, then change it.",
    422: "Correct what is named and send it again.",
    428: "Read it first, then change it.",
    429: "You ask too often: wait a minute, or ask an operator for a larger budget.",
    503: "The service is not ready: try again in a moment.",
}


def next_step_of(code: str, status: int) -> str:
    found = BY_CODE.get(code) or BY_STATUS.get(status)
    if found is None and status >= 500:
        return "Try again; if it stays, give the request id to whoever runs the service."
    return found or ""
