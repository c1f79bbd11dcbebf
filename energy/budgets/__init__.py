"""What a cluster may draw: power budgets, energy budgets, the month's peak, and their watch."""
