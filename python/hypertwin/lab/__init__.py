"""The lab: measure this machine, predict the effect of contention, and measure that effect too.

| file | contents |
|---|---|
| `cpu.py`, `control_groups.py` | contention for CPUs, predicted and measured; weights and quotas |
| `disk.py`, `fio.py` | the disk's curves, a device fitted to them, a load predicted and measured; fio on a file |
| `vm.py`, `qemu.py`, `guest.py` | real guests, predicted and measured; QEMU; the parts of a guest |
| `erasure_coding.py`, `isal.py` | CPU cost of erasure coding; Intel's ISA-L |
| `profile.py`, `machine.py`, `system.py` | all figures of this machine; model of the machine; its properties in Linux |
"""
