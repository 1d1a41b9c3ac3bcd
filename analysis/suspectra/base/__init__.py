"""What every room uses: arrays, errors, locations, cancellation, and counts as English text."""
