"""The work: jobs, profiles, attempts and the rounds that place them."""
