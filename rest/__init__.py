"""The HTTP conventions every resource shares; knows no domain."""
