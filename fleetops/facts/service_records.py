"""What launches by fleetops left on a node: one JSON object per service in /run/fleetops/services."""

import json
import re

from fleetops.facts.output import finished_lines
from fleetops.model.command import Outcome, shell
from fleetops.model.engine import SERVICE_RECORDS, ServiceRecord
from fleetops.model.fact import Fact, Unparsable

FOLDER = "/run/fleetops/services"

SCRIPT = f"""\
for record in {FOLDER}/*.json; do
  if [ -e "$record" ]; then grep -H '' "$record" || echo "unreadable $record"; fi
done
echo end
"""

_LINE = re.compile(rf"({re.escape(FOLDER)}/[^/]+?\.json):(.*)", re.DOTALL)


def parse(outcome: Outcome) -> tuple[ServiceRecord, ...]:
    """By profile. No folder: no records. Raises Unparsable where one record cannot be read: it may be the one."""
    files: dict[str, list[str]] = {}
    for line in finished_lines(outcome):
        match = _LINE.fullmatch(line)
        if not match:
            raise Unparsable(f"not a line of a service record: {line[:80]!r}")
        files.setdefault(match[1], []).append(match[2])
    records = [_record(path, "\n".join(texts)) for path, texts in files.items()]
    return tuple(sorted(records, key=lambda record: (record.profile, record.run_id)))


def _record(path: str, text: str) -> ServiceRecord:
    try:
        fields = json.loads(text)
        return ServiceRecord(
            profile=str(fields["profile"]),
            run_id=str(fields["run_id"]),
            pid=int(fields["pid"]),
            start_ticks=int(fields["start_ticks"]),
            port=int(fields["port"]),
            log=str(fields["log"]),
            unit=str(fields.get("unit", "")),
            engine=str(fields.get("engine", "sglang")),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Unparsable(f"{path} is not a service record: {error!r}") from error


FACT: Fact[tuple[ServiceRecord, ...]] = Fact(SERVICE_RECORDS, shell(SCRIPT), parse)
