"""Print what a submission to the register of Inspect Evals asks for: the paper's address and that of a `@task`'s line.

python addresses.py OWNER COMMIT

The source is that of the checkout, which has to be at the commit; a line for each entry of register.yaml.
"""

import re
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
FULL_COMMIT = re.compile(r"[0-9a-f]{40}")


def addresses(owner, commit):
    """Yield the two addresses of each entry."""
    for name, entry in yaml.safe_load((HERE / "register.yaml").read_text("utf-8")).items():
        first = entry["tasks"][0]
        source = (HERE.parents[1] / first["task_path"]).read_text("utf-8").splitlines()
        lines = [n for n, line in enumerate(source, 1) if line.startswith(f"def {first['name']}(")]
        if len(lines) != 1 or source[lines[0] - 2] != "@task":
            sys.exit(f"{name}: {first['task_path']} has no @task {first['name']}")
        permalink = f"{owner}/halu-tasks/blob/{commit}/{first['task_path']}#L{lines[0] - 1}"
        yield f"{entry['arxiv']} https://github.com/{permalink}"


if __name__ == "__main__":
    if len(sys.argv) != 3 or not FULL_COMMIT.fullmatch(sys.argv[2]):
        sys.exit("usage: python addresses.py OWNER COMMIT, the commit with its 40 digits")
    print(*addresses(*sys.argv[1:]), sep="\n")
