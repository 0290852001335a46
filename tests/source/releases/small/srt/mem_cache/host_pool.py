import logging

import psutil
import torch

logger = logging.getLogger(__name__)


class HostPool:
    def __init__(self, device_pool, host_to_device_ratio: float, host_size: int, page_size: int):
        self.device_pool = device_pool
        self.page_size = page_size
        self.size_per_token = self.get_size_per_token()
        if host_size > 0:
            self.size = int(host_size * 1e9 // self.size_per_token)
        else:
            self.size = int(device_pool.size * host_to_device_ratio)
        self.size = self.size - (self.size % self.page_size)

        requested_bytes = self.size * self.size_per_token
        available_bytes = psutil.virtual_memory().available - 10 * (1024**3)
        if requested_bytes > available_bytes:
            raise ValueError(f"Not enough host memory: {requested_bytes / 1e9:.2f} GB")
        logger.info(f"Allocating {requested_bytes / 1e9:.2f} GB host memory.")
        self.kv_buffer = self.init_kv_buffer()

    def get_size_per_token(self):
        self.layer_num = self.device_pool.layer_num
        self.head_num = self.device_pool.head_num
        self.head_dim = self.device_pool.head_dim
        return self.head_dim * self.head_num * self.layer_num * 2 * 2

    def init_kv_buffer(self):
        return torch.empty(
            (2, self.layer_num, self.size, self.head_num, self.head_dim),
            dtype=torch.bfloat16,
            device="cpu",
            pin_memory=True,
        )
