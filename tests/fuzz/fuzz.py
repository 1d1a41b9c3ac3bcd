"""Fuzz a reader, or the language server, led by coverage: what `make fuzz` runs.

    python tests/fuzz/fuzz.py junit --seconds 60
    python tests/fuzz/fuzz.py --all --seconds 60      (that long for all of them together)

Input that broke something is kept in ``corpus/TARGET``, named ``crash-…``; the tests then run it for ever.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import atheris

MAX_BYTES = 64 * 1024  # bytes of one input


def names() -> list[str]:
    import fuzz_lsp
    import fuzz_targets

    return [*fuzz_targets.TARGETS, fuzz_lsp.NAME]


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one target in this process, which ends with it."""
    with atheris.instrument_imports(include=["suspectra", "suspectra_server"]):
        import fuzz_lsp
        import fuzz_targets

    def once(data: bytes) -> None:
        if name == fuzz_lsp.NAME:
            fuzz_lsp.run(data)
            return
        with tempfile.TemporaryDirectory() as folder:
            fuzz_targets.run(name, data, Path(folder))

    corpus = fuzz_targets.CORPUS / name
    scratch = tempfile.mkdtemp()  # what the fuzzer finds of interest; not for keeping
    options = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-timeout=20", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={corpus}/", scratch, str(corpus)], once)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", nargs="?")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    if options.target:
        fuzz(options.target, options.seconds)
        return
    if not options.all:
        parser.error("name a target, or --all: " + ", ".join(names()))
    broken, each = [], max(1, options.seconds // len(names()))
    for name in names():
        done = subprocess.run(
            [sys.executable, __file__, name, "--seconds", str(each)], capture_output=True, text=True, check=False
        )
        runs = [line for line in done.stderr.splitlines() if line.startswith("Done ")]
        print(f"{name:18} {runs[-1] if done.returncode == 0 and runs else 'BROKEN'}", flush=True)
        if done.returncode:
            broken.append(name)
            print(done.stderr[-4000:], flush=True)
    sys.exit(f"broken: {', '.join(broken)}" if broken else 0)


if __name__ == "__main__":
    main()
