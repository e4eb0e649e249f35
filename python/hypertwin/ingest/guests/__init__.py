"""What is measured inside a system: vmstat, sar, iostat, pButtons."""
