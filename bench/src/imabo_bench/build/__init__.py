"""Scripts that rebuild the tables shipped with the benchmark problems, from the original data."""
