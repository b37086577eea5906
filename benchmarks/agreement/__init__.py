"""The same dumbbells in fullpipe and in ns-2, figure by figure."""
