"""The torture: random and adversarial tables through every method, promise, format and engine, judged by other code.

    make torture                      half an hour, from where the last run stopped (torture.json); MINUTES=5 for less
    python -m torture --seed 123 --cases 1 --keep DIR      that case alone; its files stay in DIR
    python -m torture --piece kills --seed 7 --cases 1     one piece of other work: spoilt, attacks, ledgers, ...
    python -m torture --figures docs/limits.md             puts the last figures there

Everything follows from the number that is printed with it. Nothing in this package imports Shoal except `worker`, which
runs its command line in a process of its own: what a release shows is read (`reading`), counted (`judge`) and compared
with what was asked (`verdicts`) by code of the torture's own.

| what | where |
|---|---|
| tables, and what is asked of them | `tables`, `cases` |
| what must be true of an answer, a release, its certificate, its bytes | `verdicts`, `judge`, `reading` |
| people with several records, households, pseudonyms | `people`, `crowds` |
| files as systems export them: dates, amounts, words for missing, remarks | `exports` |
| every command on damaged files | `fuzz` |
| values that are taken for one another | `collisions` |
| minimality, deFinetti, intersection | `attacks` |
| runs that are killed, two that write at once | `kills` |
"""
