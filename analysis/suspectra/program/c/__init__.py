"""Compiled C and C++ objects as their compiler described them."""
