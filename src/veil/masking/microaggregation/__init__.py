"""Partitions of records into groups of at least k similar ones, the first half of microaggregation.

A partition is an array with the group of each row. Groups are numbered as the algorithm forms them, and ties
go to the lowest row, so the same table always gives the same partition.
"""
