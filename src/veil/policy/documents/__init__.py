"""Policies as documents: their elements, and reading and writing them."""
