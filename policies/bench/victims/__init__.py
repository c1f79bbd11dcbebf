"""Which running jobs to stop so that another has room, at the least loss of work."""
