"""Colours of states on the admin's pages."""

STATE_COLOURS = {
    "queued": "info",
    "placed": "info",
    "running": "warning",
    "preempting": "warning",
    "succeeded": "success",
    "failed": "danger",
    "offered": "info",
    "starting": "info",
    "stopping": "warning",
    "ended": "success",
    "lost": "danger",
    "done": "success",
}
