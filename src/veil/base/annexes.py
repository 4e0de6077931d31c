"""Annexes: modules that declare further steps of recipes, and stand above the verbs that these call.

Packages import from lower layers only. `veil/__init__.py` lists the modules, which are imported once a recipe
is read whose steps are not known without them.
"""

ANNEXES: list[str] = []
