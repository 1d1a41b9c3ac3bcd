"""`python -m suspectra` is the command line, and so is the command `suspectra`."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave the process with its status, also where it is interrupted while it is loaded."""
    try:
        from suspectra.base.compiler_warnings import ignore_compiler_warnings
        from suspectra.cli import main as cli

        ignore_compiler_warnings()
        cli.main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    # -m has put the current folder first, where a project's json.py would be taken for Python's
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    main()
