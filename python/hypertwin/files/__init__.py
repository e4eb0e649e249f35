"""Files: reads and writes that are safe for files of users, and YAML.

| file | contents |
|---|---|
| `reading.py` | reads without blocking: no devices, no silent pipes |
| `writing.py` | atomic writes, which never replace an input |
| `yaml_file.py` | YAML with lines and limits |
| `yaml_fields.py` | small YAML files with fixed keys |
| `yaml_writing.py` | scenarios as YAML text |
"""
