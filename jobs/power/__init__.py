"""Whether the machines do as they were told: watts within budgets, clocks as set."""
