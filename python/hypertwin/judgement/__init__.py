"""Verdict on a whole result: its answer in words, and the point of a sweep from which VM groups suffer.

The core judges single points: the groups that suffer, and their limits (`judgement` of each point). This package
compares points.

| module | contents |
|---|---|
| `settings` | settings of a point in words; axes of a sweep |
| `limits` | limits of a group, in words |
| `breaks` | values along a sweep where each group suffers |
| `answer` | the answer of a result |
"""
