"""Writers of a ranking, one module for each format. They only format; they compute nothing."""
