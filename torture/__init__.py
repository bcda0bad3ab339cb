"""The torture: random and adversarial tables through every method, promise, format and engine, judged by other code.

`make torture` runs it for half an hour. What it prints can be repeated: each case follows from its seed alone
(`python -m torture --seed 123 --cases 1 --keep DIR`). Nothing in this package imports Shoal except `worker`, which runs
its command line in a process of its own: what a release shows is read, counted and compared by code of the torture's
own (`reading`, `judge`, `attacks`).
"""
