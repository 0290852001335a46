"""The lab's stand-in for SGLang 0.5.9: its command line, processes, log, endpoints and memory behaviour.

It runs inside the lab's hosts, on the standard library alone. What a laptop lacks is modelled: GPU memory and pinned
host memory are entries in the lab driver's ledger, and one megabyte is really touched for each gigabyte of host
memory. What an operator's tools see is real: processes and their titles, zombies, threads, signals, device files,
shared memory, the port.

Messages, orders and endpoints were read in the SGLang 0.5.9 wheel; each module names the file it follows.
"""
