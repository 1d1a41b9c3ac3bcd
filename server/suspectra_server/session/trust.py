"""Whether code of the workspace may be executed: asked in one place, by whatever executes any."""

from __future__ import annotations

from collections.abc import Mapping


class NotTrusted(Exception):
    """Code of a workspace was to be executed that is not trusted; says what the user can do."""


class Trust:
    """The trust in the workspace of one client.

    Parameters
    ----------
    trusting : bool
        Whether the client's word counts: it does where the client has started the server, or the command line said so.

    Attributes
    ----------
    granted : bool
        Whether the workspace is trusted.
    """

    def __init__(self, trusting: bool):
        self._trusting = trusting
        self.granted = False

    def learn(self, options: object) -> None:
        """Take the client's word out of its initialization options; a client that says nothing trusts."""
        self.granted = self._trusting and not (isinstance(options, Mapping) and options.get("trusted") is False)

    def require(self) -> None:
        """Make sure that code of the workspace may be executed.

        Raises
        ------
        NotTrusted
            When it may not.
        """
        if not self.granted:
            cure = "trust it in your editor first" if self._trusting else "start the server with --trusted"
            raise NotTrusted(f"Tests are run only in a workspace you trust: {cure}.")
