"""Files that attempts bring along and leave behind: archives, git commits, artifacts."""
