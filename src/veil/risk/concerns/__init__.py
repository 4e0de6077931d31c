"""What no privacy model judges, said before anybody signs: `concerns_of` a release, one module for each question."""
