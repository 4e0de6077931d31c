"""Sessions: questions to one table under a budget."""
