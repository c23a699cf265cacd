"""The adapter to lm-evaluation-harness, in the versions of `TRIED`."""

import logging
from importlib.metadata import version

from halu_tasks.core.errors import LM_EVAL, install_excepthook

TRIED = ("0.4.13", "0.5.0.dev1")
"""The versions of lm-eval that are tested."""

_installed = version("lm_eval")
_untried = f"lm-eval {_installed} has not been tried with halu-tasks, which was tried with {' and '.join(TRIED)}"
if _installed in TRIED:
    install_excepthook(*LM_EVAL)
else:
    # before anything of lm-eval is imported that it may lack
    logging.getLogger(__name__).warning(_untried)
    install_excepthook(*LM_EVAL, note=f"the error above may come from this: {_untried}")
