"""``python -m suspectra`` is the command ``suspectra``, of the interpreter that runs it."""

from suspectra.cli import main

if __name__ == "__main__":
    main()
