"""What a client can ask for: one module for each request or group of requests."""
