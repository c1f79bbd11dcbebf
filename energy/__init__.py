"""Energy and money: telemetry, meters, the ledger, statements, power and energy budgets."""
