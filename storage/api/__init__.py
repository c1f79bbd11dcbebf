"""Uploads and blobs over HTTP."""
