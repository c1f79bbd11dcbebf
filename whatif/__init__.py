"""What would happen: simulations and forecasts, over REST and Celery."""
