"""Inserting probes into Python sources during import. Standard library only, as it runs in the process of the tests."""
