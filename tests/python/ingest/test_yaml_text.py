"""How imported scenarios are written: names that look like numbers stay names."""

from __future__ import annotations

import pytest

from hypertwin.files import yaml_file
from hypertwin.files.yaml_writing import to_yaml


@pytest.mark.parametrize("name", ["1e-200", "1e5", "12", "0x10", "true", "esx-1", "nan", "1_000", "0o17"])
def test_a_name_is_read_as_it_was(name: str) -> None:
    text = to_yaml({"host": name, "clusters": (name,), name: 1})
    assert yaml_file.parse(text, "x").root.data() == {"host": name, "clusters": [name], name: 1}
