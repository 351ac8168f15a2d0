"""What benchmarks make of the times they have taken."""
