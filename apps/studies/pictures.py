"""Draws the pictures of the studies beside this file, as far as they have run.

python apps/studies/pictures.py docs/studies
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import smpy

HERE = Path(__file__).parent


def hpl_capacity(axes: Axes, frame: pd.DataFrame) -> None:
    top = frame["set.topology.parents"].str.split(",").str[1].astype(int)
    for (bandwidth, is_random), rows in frame.groupby(
        ["set.nic.bandwidth", frame["placement"].str.startswith("random")], sort=False
    ):
        seconds = rows.groupby(top)["hpl_s"].agg(["median", "min", "max"])
        where = "random hosts" if is_random else "hosts in order"
        style = "o--" if is_random else "o-"
        (line,) = axes.plot(seconds.index, seconds["median"], style, label=f"{bandwidth}, {where}")
        axes.fill_between(seconds.index, seconds["min"], seconds["max"], alpha=0.3, color=line.get_color())
    axes.set(yscale="log", xlabel="top switches", ylabel="HPL, N = 50,000 on 512 hosts (s)", xticks=sorted(set(top)))
    axes.legend()


def hpl_equal_price(axes: Axes, frame: pd.DataFrame) -> None:
    machines = list(dict.fromkeys(frame["machine"]))
    prices = frame.groupby("machine")["price_eur"].first()
    for shift, (bandwidth, rows) in zip((-0.2, 0.2), frame.groupby("set.nic.bandwidth", sort=False), strict=True):
        axes.bar(np.arange(len(machines)) + shift, rows.set_index("machine")["hpl_s"][machines], 0.4, label=bandwidth)
    names = [f"{name.replace(' of ', chr(10) + 'of ')}\n{prices[name] / 1e6:.2f} MEUR" for name in machines]
    axes.set(yscale="log", ylabel="HPL, N = 50,000 on 512 hosts (s)", xticks=range(len(machines)))
    axes.set_xticklabels(names, fontsize=6)
    axes.legend()


def collectives(axes: Axes, frame: pd.DataFrame) -> None:
    best = frame.groupby(["network", "args.--bytes"])["allreduce_s"].transform("min")
    frame = frame.assign(times=frame["allreduce_s"] / best)
    networks = list(dict.fromkeys(frame["network"]))
    marks = dict(zip(networks, "o^s", strict=True))
    for number, (algorithm, of_one) in enumerate(frame.groupby("algorithm.allreduce", sort=False)):
        for network, rows in of_one.groupby("network", sort=False):
            label = f"{algorithm}, {network}" if number == 0 else (algorithm if network == networks[0] else None)
            axes.plot(rows["args.--bytes"], rows["times"], marks[network] + "-", color=f"C{number}", label=label)
    axes.set(xscale="log", yscale="log", xlabel="bytes", ylabel="times the fastest algorithm's time")
    axes.legend(fontsize=6)


def stencil_strong(axes: Axes, frame: pd.DataFrame) -> None:
    for network, rows in frame.groupby("network", sort=False):
        axes.plot(rows["ranks"], rows["makespan_s"].iloc[0] / rows["makespan_s"], "o-", label=network)
    axes.plot(frame["ranks"], frame["ranks"], "k:", label="as many times as ranks")
    axes.set(xscale="log", yscale="log", xlabel="ranks", ylabel="speed-up, 4,096 x 4,096 points")
    axes.legend()


def stencil_weak(axes: Axes, frame: pd.DataFrame) -> None:
    axes.plot(frame["ranks"], frame["makespan_s"].iloc[0] / frame["makespan_s"], "o-")
    axes.set(xscale="log", ylim=(0, 1.05), xlabel="ranks", ylabel="efficiency, 512 x 512 points a rank")


def cg_network(axes: Axes, frame: pd.DataFrame) -> None:
    for bandwidth, rows in frame.groupby("set.nic.bandwidth", sort=False):
        latency_us = rows["set.nic.latency"].str.removesuffix("us").astype(float)
        axes.plot(latency_us, rows["makespan_s"] * 1e3, "o-", label=bandwidth)
    axes.set(xscale="log", yscale="log", xlabel="latency of a cable (us)", ylabel="conjugate gradients, 64 ranks (ms)")
    axes.legend()


def workload(axes: Axes, frame: pd.DataFrame) -> None:
    largest = frame[frame["set.host.count"] == frame["set.host.count"].max()]
    times_s = largest.pivot(index="program", columns="network", values="makespan_s")
    times_s = times_s[list(dict.fromkeys(frame["network"]))]
    times_s.div(times_s.iloc[:, 0], axis=0).plot.bar(ax=axes, rot=0)
    axes.set(xlabel="", ylabel="time, of that on the first network")
    axes.legend(fontsize=7)


DRAWN: dict[str, Callable[[Axes, pd.DataFrame], None]] = {
    it.__name__: it
    for it in (
        hpl_capacity,
        hpl_equal_price,
        collectives,
        stencil_strong,
        stencil_weak,
        cg_network,
        workload,
    )
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        frame = smpy.Study(HERE / f"{name}.toml").table().frame
        if frame.empty:
            print(f"{name} has not run")
            continue
        figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
        draw(axes, frame)
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
