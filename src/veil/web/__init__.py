"""The workbench: a server on this machine, the pages that it shows, and the REST API under them.

Thin, as the command line is: whatever it answers is one call of the public Python API. FastAPI is imported here only.
"""
