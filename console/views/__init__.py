"""What each address shows or does: shape only."""
