"""REST resources of the machines."""
