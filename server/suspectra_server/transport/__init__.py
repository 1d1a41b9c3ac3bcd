"""The connection: messages in and out, who may connect, and what waits to be sent."""
