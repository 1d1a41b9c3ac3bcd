"""Requests that were understood and can't be done."""

from pygls.exceptions import JsonRpcException


class RequestFailed(JsonRpcException):
    """A request that was understood and can't be done (LSP's RequestFailed)."""

    CODE = -32803


CHANGED = "The sources changed meanwhile. Run the tests again first."
