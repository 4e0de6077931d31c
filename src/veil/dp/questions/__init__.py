"""Questions under a budget: the sensitivity of each answer, the noise that hides it, and the computation.

A question is built from declarations alone. Its price and accuracy are known before it is asked; the session
charges the budget and supplies the rows.
"""
