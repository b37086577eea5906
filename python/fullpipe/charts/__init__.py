"""Pictures; they take columns, and know no results."""
