"""Partitions of records into groups of at least k similar ones, the first half of microaggregation.

A partition is an array with the number of the group of each row. Groups are numbered in the order in which the
algorithm forms them, and ties go to the lowest row, so the same table always gives the same partition.
"""
