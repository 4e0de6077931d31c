"""Dying at every step: a run is stopped at its first change of the file system, then at its second, and so on."""
