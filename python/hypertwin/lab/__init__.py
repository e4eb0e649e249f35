"""The lab: measure this machine, predict what contention does to it, and measure that too.

| file | what it holds |
|---|---|
| `cpu.py`, `control_groups.py` | contention for CPUs, predicted and measured; weights and quotas |
| `disk.py`, `fio.py` | the disk's curves, a device fitted to them, a load predicted and measured; fio on a file |
| `vm.py`, `qemu.py`, `guest.py` | real guests, predicted and measured; QEMU; what a guest is made of |
| `erasure_coding.py`, `isal.py` | what coding costs a core; Intel's ISA-L |
| `profile.py`, `machine.py`, `system.py` | all figures of this machine; which machine it is; what Linux says of it |
"""
