"""Every benchmark in one run: `python tests/benchmark_all.py`, on an otherwise idle machine.

Prints what each of the others prints, with the load of the machine before it. It takes about two hours. A benchmark
that fails does not stop the others; the exit status is then 1.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

BENCHMARKS = (
    ("Beside the bare harnesses", "benchmark.py", ""),
    ("Report of ten models", "benchmark_report.py", ""),
    ("Scoring many replies", "benchmark_score.py", ""),
    ("Judging many replies", "benchmark_judge.py", ""),
    ("Building from many documents", "benchmark_build.py", "1000 5000 --tasks"),
    ("Executors with kills", "benchmark_executors.py", "--documents 400 --replies 200000"),
    ("Reading replies of any shape", "benchmark_readers.py", "--sizes 64 256"),
)
"""Title, file and arguments of each; the numbers that are not the file's own are smaller."""


def main() -> int:
    failed = []
    for title, file, arguments in BENCHMARKS:
        print(f"\n== {title}: {file} {arguments} (load {os.getloadavg()[0]:.1f})", flush=True)
        begin = time.monotonic()
        result = subprocess.run([sys.executable, str(Path(__file__).with_name(file)), *arguments.split()])
        print(f"== {time.monotonic() - begin:.0f} s", flush=True)
        if result.returncode:
            failed.append(file)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
