#!/usr/bin/env python
"""Django's command line."""

from scheduler_service.command import main

if __name__ == "__main__":
    main()
