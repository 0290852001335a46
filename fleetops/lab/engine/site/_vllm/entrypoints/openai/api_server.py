"""`python3 -m vllm.entrypoints.openai.api_server`, which has no subcommand."""

from fleetops.lab.vllm.main import run

if __name__ == "__main__":
    run()
