"""`python -m halu_tasks` is `halu-tasks`."""

import sys

from halu_tasks.cli import main

sys.exit(main())
