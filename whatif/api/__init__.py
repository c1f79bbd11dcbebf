"""Shapes and addresses of simulations and forecasts."""
