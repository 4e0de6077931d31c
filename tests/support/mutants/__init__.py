"""Mutation testing: code that is wrong by one sign, which some test must notice."""
