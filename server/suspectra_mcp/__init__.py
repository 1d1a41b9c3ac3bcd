"""A server of the Model Context Protocol, through which coding agents ask what Suspectra knows."""
