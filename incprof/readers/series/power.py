"""The power among the columns of a file of counters."""

from __future__ import annotations

import numpy as np

from incprof.model import WATTS
from incprof.model.series import CounterSeries, Power
from incprof.readers.nodes.names import understood
from incprof.readers.nodes.power import with_power
from incprof.readers.nodes.rates import rates_of
from incprof.readers.nodes.tables import Table


def power_of(series: CounterSeries, simulated: str | None) -> Power | None:
    """Return the power of the node; None where no column tells it.

    Args:
        series: r rows.
        simulated: the formula that its power comes from, as the file says.
    """
    columns = [understood(name, series.values[:, at]) for at, name in enumerate(series.names)]
    sensors = tuple(each for each in columns if each.unit == WATTS and np.isfinite(each.values).any())
    if not sensors:
        return None
    begun = float(series.start_s[0])
    table = Table("", None, series.end_s, sensors, by_clock=False, first_s=begun, is_whole=True)
    try:
        node = with_power(rates_of(table, ""))
    except ValueError:
        return None  # of a counter of joules that was read once
    if node.power is None or node.watts is None:
        return None
    return Power(node.power, node.watts, tuple(each.name for each in sensors), simulated, node.notes)
