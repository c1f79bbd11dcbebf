"""Schemathesis over the whole schema, as each role, against a running service of its own."""
