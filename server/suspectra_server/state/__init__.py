"""What the features read: rankings, where suspects are in the texts, and what the reader did."""
