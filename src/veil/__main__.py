"""`python -m veil` is the same as `veil`."""

from veil.cli import main

if __name__ == "__main__":
    main()
