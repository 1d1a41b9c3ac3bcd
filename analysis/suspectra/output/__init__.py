"""Writers of a ranking: one module per format. They format what a report says and compute nothing."""
