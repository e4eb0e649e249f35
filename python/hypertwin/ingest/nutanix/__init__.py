"""Readers of Nutanix clusters.

| file | input |
|---|---|
| `prism.py` | saved responses of the REST APIs of Prism Element (v1, v2.0) and Prism Central (v3) |
"""
