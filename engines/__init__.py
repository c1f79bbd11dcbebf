"""Who runs attempts: one package per engine."""
