"""What policies mean: who may have which data, until when, and how coarse."""
