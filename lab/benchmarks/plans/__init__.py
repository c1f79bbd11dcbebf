"""What one plan costs, of every policy."""
