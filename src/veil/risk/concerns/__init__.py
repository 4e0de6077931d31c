"""Concerns: facts about a release that no privacy model judges, collected by `concerns_of`."""
