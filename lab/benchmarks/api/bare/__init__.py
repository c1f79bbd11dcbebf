"""What any DRF project would write: one view that inserts a job, none of our conventions."""
