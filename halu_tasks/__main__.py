"""Run `python -m halu_tasks` as `halu-tasks`."""

import sys

from halu_tasks.cli import main

sys.exit(main())
