"""Questions, each with the mechanism that answers it."""
