"""Make this package's tasks, models, filters and metrics available in lm-eval by name.

lm-eval 0.4.13 and 0.5.0.dev1 read no entry points, so a .pth line imports this module when Python starts. It adds an
import hook, imports nothing else, and acts only when lm-eval is imported: then it adds the package's tasks, and
registers the models, filters and metrics of entry points, unless lm-eval does so itself. Set HALU_TASKS_NO_AUTOLOAD=1
to switch it off; then use `--include_path "$(halu-tasks show --path)"`.
"""

import sys


def _add_tasks(manager):
    """Add this package's tasks to the index of lm-eval's own tasks; those win if names are the same."""
    build = manager.TaskIndex.build

    def build_with_halu_tasks(paths, **kwargs):
        paths = list(paths)
        index = build(paths, **kwargs)
        try:
            from halu_tasks import task_configs

            resolved = {path.resolve() for path in paths}
            lm_eval_folder = manager.Path(manager.__file__).resolve().parent
            for folder in map(manager.Path, task_configs.__path__):
                if lm_eval_folder in resolved and folder.resolve() not in resolved:
                    _merge(index, build([folder], **kwargs))
            _warn_of_unread(lm_eval_folder)
        except Exception:
            _log("cannot add the tasks of halu-tasks to lm-eval")
        return index

    manager.TaskIndex.build = staticmethod(build_with_halu_tasks)


def _merge(index, added):
    """Add entries to an index: what is there already stays, but for tags, which get the tasks of both."""
    for name, entry in added.items():
        present = index.setdefault(name, entry)
        if present is not entry and present.kind.name == entry.kind.name == "TAG":
            present.tags |= entry.tags


def _warn_of_unread(lm_eval_folder):
    """Warn of damaged task files, except lm-eval's own: lm-eval skips them without a warning."""
    import logging

    for path, error in sorted(unread.items()):
        if lm_eval_folder not in path.resolve().parents:
            from halu_tasks.core.errors import UsageError
            from halu_tasks.tasks.yaml_files import read_task_file

            message = f"{path} cannot be read ({error})"
            try:
                read_task_file(path)
            except UsageError as fault:
                message = str(fault)  # with the line
            logging.getLogger("halu_tasks").warning("%s; its task is missing", " ".join(message.split()))
    unread.clear()


def _watch_files(loader):
    """Record which file defines a task, and which files cannot be read: lm-eval reports neither."""
    load = loader.load_yaml

    def load_yaml(path, **kwargs):
        try:
            config = load(path, **kwargs)
        except Exception as error:
            if kwargs.get("_seen") is None:  # not one that another includes
                unread[path] = error
            raise
        if kwargs == {"resolve_func": False} and str(config.get("class")).endswith(".HaluTask"):
            # lm-eval 0.5.0.dev1 makes this a task that was named by its file, without its functions
            config, kwargs = load(path), {}
        if kwargs.get("resolve_func", True) and isinstance(config.get("task"), str):
            files[config["task"]] = str(path)
        return config

    loader.load_yaml = load_yaml


def _add_named(*kinds):
    """Return the action that registers this package's models, filters, … by name, without importing them."""

    def add(module):
        from importlib import metadata

        from lm_eval.api import registry

        # the entry points of all packages would take long to find
        entry_points = metadata.distribution("halu-tasks").entry_points
        for kind in kinds:
            names = getattr(registry, f"{kind}_registry")
            for entry_point in entry_points.select(group=f"lm_eval.{kind}s"):
                if entry_point.name not in names:  # as it is if lm-eval reads them itself
                    names.register(entry_point.name, target=entry_point.value)

    return add


def _log(problem):
    import logging
    from importlib import metadata

    try:
        version = metadata.version("lm_eval")
    except Exception:  # such as of a checkout that was not installed
        version = "of an unknown version"
    logging.getLogger("halu_tasks").warning("%s %s", problem, version, exc_info=True)


files: dict[str, str] = {}
"""The file that each task was loaded from, for errors that name it."""
unread: dict[str, Exception] = {}
"""The files that could not be read, with the error."""

_ACTIONS = {
    "lm_eval.tasks._yaml_loader": _watch_files,
    "lm_eval.tasks.manager": _add_tasks,
    "lm_eval.models": _add_named("model"),
    "lm_eval.filters": _add_named("filter"),
    # not its registry: lm-eval imports its own metrics only while that is empty
    "lm_eval.api.metrics": _add_named("metric", "aggregation"),
}


def find_spec(name, path=None, target=None):
    """Let other finders find a module, and act once it has run: with this function the module is a finder."""
    if name not in _ACTIONS:
        return None
    try:
        from importlib.machinery import PathFinder
        from os import environ

        if environ.get("HALU_TASKS_NO_AUTOLOAD") == "1":
            return None
        spec = PathFinder.find_spec(name, path, target)
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            try:
                if name in _ACTIONS:
                    _ACTIONS.pop(name)(module)
            except Exception:
                _log(f"cannot extend {name} of lm-eval")

        spec.loader.exec_module = exec_module
        return spec
    except Exception:
        return None


sys.meta_path.insert(0, sys.modules[__name__])
