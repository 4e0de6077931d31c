"""Questions under a budget: how much one record can change the answer, which noise hides that, and how the answer is made.

A question is made from what is declared alone. It knows its price and how good the answer will be before it is asked; the
session pays, and hands it the rows.
"""
