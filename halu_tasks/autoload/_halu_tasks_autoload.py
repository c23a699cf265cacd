"""Make this package's tasks, models, filters and metrics available in lm-eval by name.

lm-eval 0.4.13 and 0.5.0.dev1 read no entry points, so a .pth line imports this module when Python starts. It adds an
import hook, imports nothing else, and acts only when lm-eval is imported: then it adds the package's tasks, and
registers the models, filters and metrics of entry points, unless lm-eval does so itself. Set HALU_TASKS_NO_AUTOLOAD=1
to switch it off; then use `--include_path "$(halu-tasks show --path)"`.
"""

import sys


def _add_tasks(manager):
    """Make the index of lm-eval's own tasks hold this package's tasks too, without hiding any."""
    build = manager.TaskIndex.build

    def build_with_ours(paths, **kwargs):
        paths = list(paths)
        index = build(paths, **kwargs)
        try:
            from halu_tasks import task_configs

            given = {path.resolve() for path in paths}
            own = manager.Path(manager.__file__).resolve().parent
            for folder in map(manager.Path, task_configs.__path__):
                if own in given and folder.resolve() not in given:
                    _merge(index, build([folder], **kwargs))
            _warn_of_unread(own)
        except Exception:
            _log("cannot add the tasks of halu-tasks to lm-eval")
        return index

    manager.TaskIndex.build = staticmethod(build_with_ours)


def _merge(index, added):
    """Add entries to an index: what is there already stays, but for tags, which get the tasks of both."""
    for name, entry in added.items():
        known = index.setdefault(name, entry)
        if known is not entry and known.kind.name == entry.kind.name == "TAG":
            known.tags |= entry.tags


def _warn_of_unread(own):
    """Name the files, but for lm-eval's own, that it left out without a word because they are damaged."""
    import logging

    for path, error in sorted(unread.items()):
        if own not in path.resolve().parents:
            from halu_tasks.core.errors import UsageError
            from halu_tasks.tasks.yaml_files import read_task_file

            fault = f"{path} cannot be read ({error})"
            try:
                read_task_file(path)
            except UsageError as named:
                fault = str(named)  # with the line
            logging.getLogger("halu_tasks").warning("%s; its task is missing", " ".join(fault.split()))
    unread.clear()


def _watch_files(loader):
    """Remember which file defines a task, and which files cannot be read: lm-eval tells neither."""
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
    """Return what registers the advertised models, filters, … under their names, to be imported when they are used."""

    def add(module):
        from importlib import metadata

        from lm_eval.api import registry

        ours = metadata.distribution("halu-tasks").entry_points  # those of all packages take long to find
        for kind in kinds:
            names = getattr(registry, f"{kind}_registry")
            for entry_point in ours.select(group=f"lm_eval.{kind}s"):
                if entry_point.name not in names:  # as it is if lm-eval reads them itself
                    names.register(entry_point.name, target=entry_point.value)

    return add


def _log(what):
    import logging
    from importlib import metadata

    try:
        version = metadata.version("lm_eval")
    except Exception:  # such as of a checkout that was not installed
        version = "of an unknown version"
    logging.getLogger("halu_tasks").warning("%s %s", what, version, exc_info=True)


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
