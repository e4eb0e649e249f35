"""Linux/KVM in: libvirt, Proxmox VE, and what a host says of itself."""
