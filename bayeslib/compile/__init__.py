"""How a Python function becomes machine code."""
