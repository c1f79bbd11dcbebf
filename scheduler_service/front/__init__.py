"""The API's front: a request gets a thread only once it is here whole.

Strangers may hold sockets, never threads: bodies are read by the event loop, within a deadline and
a budget of bytes, and answered 408, 411, 413 or 503 before Django hears of them. docs/outages.md
says which limits there are.
"""
