"""States of the running rank's host (DVFS), and its power and energy so far."""

from __future__ import annotations

from math import nan
from typing import Final

from smpy.engine.kernel import lib
from smpy.engine.loop import Loop, check
from smpy.errors import UsageError

_GOVERNORS: Final = {
    "performance": lib.GOVERNOR_PERFORMANCE,
    "powersave": lib.GOVERNOR_POWERSAVE,
    "ondemand": lib.GOVERNOR_ONDEMAND,
    "conservative": lib.GOVERNOR_CONSERVATIVE,
}


class HostStates(Loop):
    """Part of a world that sets and reads states of hosts; its parameters are those of `Engine`."""

    def set_host_state(self, state: int) -> None:
        """Put the running rank's host into a state from the rank's date on.

        Raises
        ------
        IndexError
            If the host has no such state.
        """
        host = self._host_of_rank[self.rank]
        n_states = int(lib.sim_n_host_states(self._sim, host))
        if not 0 <= state < n_states:
            name, has = self.platform.host_names[host], "1 state" if n_states == 1 else f"{n_states} states"
            raise IndexError(f"host {name!r} has {has}, counted from 0: it has no state {state}")
        check(lib.sim_append_host_state(self._sim, self.timeline, state))
        self._keep_pace()

    def govern(self, name: str, period_s: float) -> None:
        """Let a governor set the states of all hosts with several states, once per period; called before the run.

        Raises
        ------
        UsageError
            If no host has several.
        """
        if all(lib.sim_n_host_states(self._sim, host) == 1 for host in range(self.platform.n_hosts)):
            raise UsageError(
                f"--governor {name}: no host of {self.platform.name} has several states: "
                "list them in [power] states, or as several speeds of a host in XML"
            )
        check(lib.sim_govern(self._sim, _GOVERNORS[name], period_s))

    def host_state(self) -> int:
        """State of the running rank's host at the rank's date."""
        return int(lib.sim_host_state(self._sim, self._host_at_its_date("host_pstate")))

    def host_energy_j(self) -> float:
        """Joules of the running rank's host up to the rank's date; NaN if its power is unknown, or time was skipped."""
        host = self._host_at_its_date("host_energy_j")
        return nan if self.has_skipped else float(lib.sim_energy_of_host_j(self._sim, host))

    def host_power_w(self) -> float:
        """Power of the running rank's host at the rank's date; NaN if unknown."""
        return float(lib.sim_power_of_host_w(self._sim, self._host_at_its_date("host_power_w")))

    def _host_at_its_date(self, call: str) -> int:
        if not lib.sim_is_idle(self._sim, self.timeline):
            self.block(call)
        return self._host_of_rank[self.rank]
