"""How chains run: where they begin, the loop, threads and executors, and what is collected."""
