"""What keeps its place while a job is followed, so that a broken connection loses nothing."""
