"""What a person at a prompt waits for."""
