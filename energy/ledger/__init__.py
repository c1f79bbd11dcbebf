"""Joules and money per attempt: from counters to rows that are only ever added."""
