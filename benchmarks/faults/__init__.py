"""Faults of caches and of foreign files: the behavior of one or two builds on the input of each."""
