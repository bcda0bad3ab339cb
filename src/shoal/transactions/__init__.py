"""Purchase histories: many records a person (paper 4)."""
