"""Processes that tests start: what they execute counts for the test that started them."""
