"""GPU types and applications fitted to public measurements, and how they were fitted."""
