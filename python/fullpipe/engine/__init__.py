"""Engines: the simulator, its tables, memory, and threads, and the options of runs."""
