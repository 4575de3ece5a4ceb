"""Side-by-side benchmarks: mcp_gen against the bare minimum, as ratios of one run."""
