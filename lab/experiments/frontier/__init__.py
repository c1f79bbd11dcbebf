"""Every policy in money and in hours."""
