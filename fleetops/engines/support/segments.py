"""Shared memory by its name."""

COMMON_SEGMENTS = ("psm_", "nccl-", "torch_", "cuda.shm.", "sem.mp-")
"""Made by torch, NCCL, CUDA and Python's multiprocessing for any program."""
