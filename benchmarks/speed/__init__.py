"""How fast fullpipe simulates, beside ns-2 and ns-3 on the same dumbbells in the same run."""
