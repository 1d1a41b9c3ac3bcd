"""Techniques that rank by what runs with something altered or noted have shown."""
