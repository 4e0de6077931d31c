"""The commands and their options. What they do is in the modules of `veil.cli`."""
