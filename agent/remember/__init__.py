"""What outlives a crash of the agent: journal, attempts, lease and the files they lie in."""
