"""Types of columns as Polars and as Spark know them, and columns by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

STORED: dict[pl.DataType, pl.DataType] = {
    pl.UInt8(): pl.Int16(),
    pl.UInt16(): pl.Int32(),
    pl.UInt32(): pl.Int64(),
    pl.UInt64(): pl.Decimal(20, 0),
    pl.Int128(): pl.Decimal(38, 0),
    pl.Null(): pl.String(),
}


def stored(dtype: pl.DataType) -> pl.DataType:
    """As what Spark holds it, wide enough."""
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us", dtype.time_zone and "UTC")
    return STORED.get(dtype, dtype)


def to_spark(schema: pl.Schema) -> StructType:
    """The columns as Spark types them, unsigned numbers and categories in what holds them (`stored`)."""
    from pyspark.sql import types

    plain: dict[pl.DataType, DataType] = {
        pl.Boolean(): types.BooleanType(),
        pl.Int8(): types.ByteType(),
        pl.Int16(): types.ShortType(),
        pl.Int32(): types.IntegerType(),
        pl.Int64(): types.LongType(),
        pl.Float32(): types.FloatType(),
        pl.Float64(): types.DoubleType(),
        pl.String(): types.StringType(),
        pl.Binary(): types.BinaryType(),
        pl.Date(): types.DateType(),
        pl.Datetime("us"): types.TimestampNTZType(),
        pl.Datetime("us", "UTC"): types.TimestampType(),
    }

    def spark_type(name: str, dtype: pl.DataType) -> DataType:
        if isinstance(dtype, pl.Decimal):
            return types.DecimalType(dtype.precision, dtype.scale)
        if dtype not in plain:
            raise InputError(f"Column {name!r} holds {dtype}, which Spark has no plain type for: leave it out.")
        return plain[dtype]

    return types.StructType(
        [types.StructField(name, spark_type(name, stored(dtype))) for name, dtype in schema.items()]
    )


def to_polars(schema: StructType) -> pl.Schema:
    """The columns of a Spark frame as Polars types them; nested ones are refused, by name."""
    plain: dict[str, pl.DataType] = {
        "boolean": pl.Boolean(),
        "byte": pl.Int8(),
        "short": pl.Int16(),
        "integer": pl.Int32(),
        "long": pl.Int64(),
        "float": pl.Float32(),
        "double": pl.Float64(),
        "string": pl.String(),
        "binary": pl.Binary(),
        "date": pl.Date(),
        "timestamp_ntz": pl.Datetime("us"),
        "timestamp": pl.Datetime("us", "UTC"),
    }

    def polars_type(name: str, dtype: Any) -> pl.DataType:
        kind = dtype.typeName()
        if kind == "decimal":
            return pl.Decimal(dtype.precision, dtype.scale)
        if kind not in plain:
            raise InputError(
                f"Column {name!r} holds {dtype.simpleString()}, not one plain value a record: "
                "leave it out, or take it apart into columns first."
            )
        return plain[kind]

    return pl.Schema({field.name: polars_type(field.name, field.dataType) for field in schema})


def column(name: str) -> Column:
    """A column by its name, whatever characters it has: Spark would read a dot as a field within it."""
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")
