"""Where a table lies that is not held in memory at once: on disk, or in a Spark cluster."""
