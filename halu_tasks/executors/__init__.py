"""Running work that is divided into tasks: in this process, in several on this machine, with Slurm, or with Ray.

A `Job` says what each of its tasks does; an `Executor` runs them where the user wants them. A task writes what it makes
into a folder that all machines share, skips what is already there, and returns nothing, so a job that was killed is
continued by running it again.
"""
