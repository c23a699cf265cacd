"""`halu-tasks doctor`."""
HELP = "x"
def add_arguments(parser): pass
def run(arguments): return 0
