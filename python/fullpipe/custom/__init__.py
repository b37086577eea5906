"""Custom algorithms: classes, compiled code, shared libraries, and their identity."""
