"""`bayeslib` against other libraries, each in a process of its own; see benchmarks/README.md."""
