"""Tables as Shoal sees them: schema, encoded microdata, masked values, hierarchies, files."""
