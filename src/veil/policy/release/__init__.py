"""Releases that follow policies."""
