"""Pages of docs/benchmarks: tables and charts, drawn from the results of the other commands."""
