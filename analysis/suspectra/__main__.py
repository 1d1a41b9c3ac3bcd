"""`python -m suspectra` is the command line."""

from suspectra.cli import main

main()
