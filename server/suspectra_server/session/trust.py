"""Whether code of the workspace may be executed: the one check for everything that executes any."""

from __future__ import annotations

from collections.abc import Mapping


class NotTrusted(Exception):
    """Code of a workspace that is not trusted was to be executed; the text says what the user can do."""


class Trust:
    """The trust in the workspace of one client."""

    def __init__(self, trusting: bool):
        self._trusting = trusting
        self.granted = False  # whether the workspace is trusted

    def read(self, options: object) -> None:
        """Read from the initialization options whether the client trusts the workspace; it does by default."""
        self.granted = self._trusting and not (isinstance(options, Mapping) and options.get("trusted") is False)

    def require(self) -> None:
        """Make sure that code of the workspace may be executed.

        Raises NotTrusted when it may not.
        """
        if not self.granted:
            cure = "trust it in your editor first" if self._trusting else "start the server with --trusted"
            raise NotTrusted(f"Tests are run only in a workspace you trust: {cure}.")
