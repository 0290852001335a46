"""What can start sweeps on this machine: the system's systemd, a user's, or cron; at most one of them does."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetops.fleet.scheduling.crontab import Crontab
from fleetops.fleet.scheduling.machine import Machine
from fleetops.fleet.scheduling.systemd import Systemd
from fleetops.fleet.scheduling.systemd_standing import stands
from fleetops.model.errors import FleetopsError, Refused
from fleetops.model.schedule import Planned, Schedule, Standing

Keeping = Systemd | Crontab


@dataclass(frozen=True, kw_only=True)
class Keepers:
    """Those of one schedule's name."""

    machine: Machine
    name: str
    state: Path

    def _systemd(self, is_system: bool) -> Systemd:
        return Systemd(machine=self.machine, name=self.name, is_system=is_system)

    @property
    def _cron(self) -> Crontab:
        return Crontab(machine=self.machine, name=self.name, state=str(self.state))

    def there(self) -> list[Keeping]:
        """Those that keep it now."""
        every: list[Keeping] = [self._systemd(True), self._systemd(False), self._cron]
        return [keeper for keeper in every if keeper.is_there]

    def choose(self, *, system: bool, by_hand: str) -> tuple[Keeping, str]:
        """Systemd where it runs, else cron, and why.

        Raises FleetopsError, with what to type by hand, where there is neither.
        """
        systemd, cron = self._systemd(system), self._cron
        if not (why := systemd.why_not()):
            return systemd, ""
        if system and not self.machine.is_root:
            raise FleetopsError(
                f"{why}, and only root has a crontab of the system", hint="leave out --system"
            )
        if no_cron := cron.why_not():
            raise FleetopsError(
                f"nothing on this machine can start a sweep by itself: {why}; {no_cron}",
                hint=f"under whatever supervises things here, or in tmux: {by_hand}",
            )
        return cron, f"cron, since {why}"

    def plan(self, keeper: Keeping, schedule: Schedule) -> Planned:
        """What would be written. Raises Refused where another keeper has it already: hosts would be swept twice."""
        others = [one for one in self.there() if one != keeper]
        if others:
            raise Refused(
                f"sweeps of {schedule.inventory} are started by {others[0].keeper} already, not by {keeper.keeper}",
                guard="one-keeper",
                hint="fleetops schedule remove, then install it anew",
            )
        return keeper.plan(schedule)

    def standing(self, now: float) -> tuple[Standing, ...]:
        """How it stands, by each that keeps it; empty where none does."""
        return tuple(
            stands(keeper, now=now) if isinstance(keeper, Systemd) else keeper.stands(now)
            for keeper in self.there()
        )

    def remove(self) -> tuple[str, ...]:
        """Have it stopped and taken away by each that keeps it; what was removed."""
        return _flat([keeper.remove() for keeper in self.there()])


def _flat(found: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(place for places in found for place in places)
