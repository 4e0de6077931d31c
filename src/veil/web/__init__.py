"""The workbench: a server on this machine, the pages that it shows, and the REST API under them.

Thin like the command line: every answer is one call of the public Python API. FastAPI is imported here only.
"""
