"""The types of the lab's own fixtures."""

import subprocess
from collections.abc import Callable

import paramiko

Client = Callable[[str], paramiko.SSHClient]
Inside = Callable[..., subprocess.CompletedProcess[str]]
Sh = Callable[[str, str], str]
