"""Energy and money over HTTP."""
