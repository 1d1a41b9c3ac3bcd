"""Writers of a ranking, one module for each format."""
