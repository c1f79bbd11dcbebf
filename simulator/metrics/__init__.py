"""What came of a run, in numbers."""
