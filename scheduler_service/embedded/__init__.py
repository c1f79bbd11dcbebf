"""Real Postgres and a real broker from wheels, run beside the service on one Linux machine."""
