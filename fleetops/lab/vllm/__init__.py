"""The lab's stand-in for vLLM 0.32.0: its command line, processes, log, endpoints and memory behaviour.

What it shares with the SGLang stand-in (the ledger of GPU and pinned memory, device files, channels, the model's words)
it takes from there. Order, log lines, endpoints and ends were recorded from a live server of that release: the port opens
only when the engine is up; a worker that is stopped leaves /health at 200; a server that is killed leaves its engine core
and workers behind.
"""
