"""`python3 -m sglang.launch_server`."""

from fleetops.lab.engine.main import run

if __name__ == "__main__":
    run()
