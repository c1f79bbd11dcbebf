"""The service as it runs: a real server over HTTP, with two tenants and a caller of every kind."""
