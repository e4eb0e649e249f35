"""Path policies of LUNs: counted by policy, in the output of `multipath -ll`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.outside import Source
from hypertwin.ingest.storage_paths import multipath, note


def assumption(luns):
    notes = ImportNotes(Source("export"))
    note(luns, notes)
    return notes.assumptions()


MULTIPATH = """\
mpatha (3600a098038304179392b4d6c6e2f4b62) dm-5 NETAPP  ,LUN C-Mode
size=1.0T features='4 queue_if_no_path pg_init_retries 50 retain_attached_hw_handle' hwhandler='1 alua' wp=rw
|-+- policy='service-time 0' prio=50 status=active
| |- 8:0:1:2  sdi 8:128 active ready running
| `- 10:0:1:2 sdk 8:160 active ready running
`-+- policy='round-robin 0' prio=10 status=enabled
  |- 8:0:3:2  sdj 8:144 active ready running
  `- 10:0:3:2 sdl 8:176 failed faulty running
3600601602e11230062070f7f96fde511 dm-12 DGC,RAID 10
size=250G features='0' hwhandler='1 emc' wp=rw
`-+- policy='queue-length 0' prio=4 status=active
  |- 4:0:0:0 sdb 8:16 active ready running
  `- #:#:#:# -   #:#  active undef running
35000c500e1a4b101 dm-0 SEAGATE,ST16000NM001G
size=14T features='0' hwhandler='0' wp=rw
`-+- policy='service-time 0' prio=1 status=active
  `- 1:0:0:0 sda 8:0   active ready running
"""


def text(luns: list[tuple[str, str, int]]) -> str:
    (made,) = assumption(luns)
    return made.text


def test_output_of_multipath():
    found = [lun for lun in multipath(MULTIPATH) if lun[0]]
    assert found == [
        ("mpatha", "service-time", 4),
        ("3600601602e11230062070f7f96fde511", "queue-length", 2),
        ("35000c500e1a4b101", "service-time", 1),
    ]
    assert text(found).startswith("1 service-time, 1 queue-length (2 to 4 paths each): not imported; set arrays.NAME.")


@pytest.mark.parametrize(
    ("luns", "expected"),
    [
        ([("a", "VMW_PSP_RR", 4), ("b", "vmw_psp_rr", 4), ("c", "VMW_PSP_FIXED", 4)], "2 round-robin, 1 fixed (4 p"),
        ([("a", "VMW_PSP_MRU", 2), ("a", "VMW_PSP_MRU", 8)], "1 most-recently-used (8 paths"),
        ([("a", "VMW_PSP_RR", 2), ("a", "VMW_PSP_FIXED", 3)], "1 round-robin, 1 fixed (2 to 3 p"),
        ([("a", "PowerPath\x1b[31m" + "x" * 99, 2)], "1 PowerPath [31m" + "x" * 26 + " (2 p"),
        ([(str(n), f"p{n}", 2) for n in range(9)], "1 p0, 1 p1, 1 p2, 1 p3 (2 p"),
    ],
)
def test_luns_count_by_policy(luns, expected):
    assert text(luns).startswith(expected)


def test_luns_without_several_paths_are_not_named():
    assert assumption([]) == []
    assert assumption([("local", "VMW_PSP_FIXED", 1), ("", "VMW_PSP_RR", 4), ("a", "", 4)]) == []


@given(st.text(alphabet="mpath (3600) dm-0 \n|`-+ policy='round-robin 0' 1:#", max_size=400))
def test_any_text_is_read(text):
    assert all(paths >= 0 for _, _, paths in multipath(text))
