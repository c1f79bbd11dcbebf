"""One scheduling round: load, plan, check, apply, record."""
