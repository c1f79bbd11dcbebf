"""The work over HTTP: shapes, addresses and rights."""
