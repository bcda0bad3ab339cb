"""Several releases over the same people: each may be safe and all together not (paper 2, sections 2.4 and 3.2)."""
