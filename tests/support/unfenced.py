"""The change within its fence, for tests that look at what is run."""

from fleetops.model.command import Command

_HEAD = 8


def unfenced(command: Command) -> tuple[str, ...]:
    """The argv of the change itself; of a command without a fence its own."""
    return command.argv[_HEAD:] if command.argv[3:4] == ("fleetops-fence",) else command.argv
