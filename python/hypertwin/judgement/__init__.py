"""Verdict on a whole result: its answer in words, and the point of a sweep from which VM groups suffer.

The core judges single points: the groups that suffer, and their limits (`judgement` of each point). This package
compares points.

A point is judged once. The judgement is part of its data, because a page that simulates by itself has no Python.
Terminal, page, frames, `--fail-on`, `density`, `plan` and the classes of studies only read it.
`diagnosis/simulated.py` finds causes and fixes. A figure that is not judged counts in every sum. No study can change
a band, so a correct figure with a wrong cause is detected.

| module | contents |
|---|---|
| `settings` | settings of a point in words; axes of a sweep |
| `limits` | limits of a group, in words |
| `signs` | signs of VMs and groups; VMs that suffer |
| `breaks` | values along a sweep where each group suffers |
| `answer` | the answer of a result |
"""
