"""What energy costs and emits over time: tariffs, carbon series and their hours."""
