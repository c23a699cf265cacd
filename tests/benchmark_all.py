"""Every benchmark in one run: `python tests/benchmark_all.py`, on an otherwise idle machine.

Prints what each of the others prints, with the load of the machine before it. With --small, the numbers of documents,
replies and kills are smaller: about an hour instead of most of a day. A benchmark that fails does not stop the others;
the exit status is then 1.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

# title, file, arguments, arguments with --small
BENCHMARKS = [
    ("Beside the bare harnesses", "benchmark.py", "", "--repeats 2"),
    ("Report of ten models", "benchmark_report.py", "", ""),
    ("Scoring many replies", "benchmark_score.py", "", "--numbers 300000 1000000"),
    ("Judging many replies", "benchmark_judge.py", "", ""),
    ("Building from many documents", "benchmark_build.py", "--tasks", "500 1000 --tasks"),
    ("Executors with kills", "benchmark_executors.py", "", "--documents 400 --replies 200000"),
    ("Reading replies of any shape", "benchmark_readers.py", "", "--sizes 64 256"),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="smaller numbers")
    small = parser.parse_args().small
    failed = []
    for title, file, full, few in BENCHMARKS:
        arguments = (few if small else full).split()
        print(f"\n== {title}: {' '.join([file, *arguments])} (load {os.getloadavg()[0]:.1f})", flush=True)
        begin = time.monotonic()
        result = subprocess.run([sys.executable, str(Path(__file__).with_name(file)), *arguments])
        print(f"== {time.monotonic() - begin:.0f} s", flush=True)
        if result.returncode:
            failed.append(file)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
