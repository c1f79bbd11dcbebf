"""Pictures of the console's pages, taken of a service that looks back on a busy day."""
