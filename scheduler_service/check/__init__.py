"""Whether this installation can serve: everything that production needs, found out by trying."""
