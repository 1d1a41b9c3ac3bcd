"""What the features read: the ranking, where it stands in the text, and where the reader is."""
