"""`python -m agent`, where the console script is not on the path."""

import sys

from agent.cli import main

sys.exit(main())
