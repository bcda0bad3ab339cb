"""Performance claims as ratios: every figure is measured against a bare operation in the same run."""
