"""Fabric tasks: the same operations for people who drive their fleet with fab.

In a fabfile:

    from fleetops.tasks import collection

    namespace = collection

or without one: `fab --search-root "$(python -c 'import fleetops; print(*fleetops.__path__)')" --collection tasks --list`.

Hosts are the inventory's. `--hosts PATTERN` asks all of them at once; fab's own `-H` runs a task once for each host,
and as always with fab the first exit code that is not 0 ends the run.
"""

from invoke.collection import Collection

from fleetops.tasks.grep_source import grep_source
from fleetops.tasks.kill import kill
from fleetops.tasks.probe import probe
from fleetops.tasks.reset_gpus import reset_gpus

__all__ = ["collection", "grep_source", "kill", "namespace", "probe", "reset_gpus"]

collection = Collection(grep_source, probe, kill, reset_gpus)
namespace = collection
"""The name under which fab itself looks for it."""
