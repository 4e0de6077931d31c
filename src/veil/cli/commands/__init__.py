"""The commands and their options. Their work is in the modules of `veil.cli`."""
