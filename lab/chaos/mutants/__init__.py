"""Guards of the safety code, removed one at a time: the tests must notice each."""
