"""What is compiled for a record: the probe, the program, and the store that finds the right one."""
