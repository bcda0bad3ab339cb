"""The engine of many machines: Apache Spark, from its sessions to its tables."""

from shoal.engines.spark.engine import Spark

__all__ = ["Spark"]
