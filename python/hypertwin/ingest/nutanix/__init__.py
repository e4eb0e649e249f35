"""Readers of Nutanix clusters.

| file | input |
|---|---|
| `prism.py` | saved responses of the REST APIs of Prism Element (v1, v2.0) and Prism Central (v3, v4) |
| `prism_v4.py` | fields of v4 by the names of v2.0, and statistics |
| `prism_api.py` | responses of v4 over the network, from Prism Central |
"""
