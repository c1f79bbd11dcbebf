"""Classic policies: an ordering, a placement, a preemption rule and a backfill rule."""
