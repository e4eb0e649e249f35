"""Readers of Nutanix clusters.

| file | what it reads |
|---|---|
| `prism.py` | saved answers of the REST APIs of Prism Element (v1, v2.0) and Prism Central (v3) |
"""
