"""Named places in the service and the agent at which a process can be made to die."""
