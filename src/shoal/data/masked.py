"""Masked values: what a released cell shows, and the set of original values it admits.

| text        | admits                                  |
|-------------|-----------------------------------------|
| `26`        | that value                              |
| `[24;28]`   | every value from 24 to 28, both included |
| `{a;b}`     | the listed categories                   |
| `937**`     | every code that begins with 937         |
| `*`         | the whole domain                        |
| (empty)     | missing, a value of its own             |
"""
