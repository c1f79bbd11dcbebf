"""What telling others of events costs those who submit."""
