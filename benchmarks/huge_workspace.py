"""Whether the size of a workspace matters to how soon the server shows suspects in it.

The example project is recorded and copied; 50,000 files in 500 folders are laid around one copy, as generated code,
data or other packages are. Servers are started in both copies by turns; the clock runs from the start of the process
to the last of the first diagnostics.

    python benchmarks/huge_workspace.py --rounds 7 --files 50000
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from pathlib import Path

from editor_client import start
from generated_project import record

EXAMPLE = Path(__file__).parent.parent / "examples" / "ledger"
IN_A_FOLDER = 100
TARGET = 1.1  # of the small workspace's time


def fill(folder: Path, files: int) -> None:
    """Lay files around a project."""
    for number in range(0, files, IN_A_FOLDER):
        inside = folder / "generated" / f"part{number // 1000}" / f"package{number // IN_A_FOLDER}"
        inside.mkdir(parents=True)
        for file in range(min(IN_A_FOLDER, files - number)):
            (inside / f"module{file}.py").write_text(f"VALUE = {file}\n")


def seconds(folder: Path) -> float:
    """From the start of a server to its first suspects."""
    client, taken = start(folder)
    client.end()
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--files", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        small, huge = Path(scratch, "small"), Path(scratch, "huge")
        shutil.copytree(EXAMPLE, small, ignore=shutil.ignore_patterns(".suspectra", "__pycache__"))
        record(small)
        shutil.copytree(small, huge)
        fill(huge, options.files)
        seconds(small)  # warms the caches
        taken = [(seconds(small), seconds(huge)) for _ in range(options.rounds)]
    in_small, in_huge = (statistics.median(column) for column in zip(*taken, strict=True))
    ratio = statistics.median(huge / small for small, huge in taken)
    print(f"first suspects in the example project:       {in_small:.2f} s")
    print(f"the same among {options.files:,} other files:        {in_huge:.2f} s, {ratio:.2f} times as long")
    figures = {"small_s": round(in_small, 3), "huge_s": round(in_huge, 3), "ratio": round(ratio, 3), "target": TARGET}
    print(json.dumps({"benchmark": "huge_workspace", **figures}))


if __name__ == "__main__":
    main()
