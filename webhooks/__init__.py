"""Addresses of tenants that are told what their jobs do, by the Standard Webhooks scheme."""
