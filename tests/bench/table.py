"""The benchmarks' table: a figure that is recorded is judged."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Table:
    """Rows as they are measured; one that does not meet what is required fails its test once it is in the table."""

    rows: list[tuple[str, str, str, str, str, str]] = field(default_factory=list)

    def at_least(self, name: str, ours: float, reference: float, unit: str, required: float) -> None:
        """A speed against the reference's."""
        ratio = ours / reference
        speeds = (f"{_figure(ours)} {unit}", f"{_figure(reference)} {unit}")
        self.rows.append((name, *speeds, f"{ratio:.2f}", f">= {required:g}", _word(ratio >= required)))
        assert ratio >= required, f"{name}: {ratio:.2f} of the reference, {required:g} is required"

    def at_most(self, name: str, value: float, unit: str, limit: float) -> None:
        """A value that has a limit."""
        self.rows.append((name, f"{_figure(value)} {unit}", "", "", f"<= {limit:g} {unit}", _word(value <= limit)))
        assert value <= limit, f"{name}: {value:.3g} {unit}, above {limit:g} {unit}"

    def render(self) -> str:
        """All rows, in columns."""
        rows = [("workload", "smpy", "reference", "ratio", "required", ""), *self.rows]
        widths = [max(len(row[i]) for row in rows) for i in range(6)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _word(is_met: bool) -> str:
    return "" if is_met else "NOT MET"


def _figure(value: float) -> str:
    """Three digits, in full."""
    return f"{float(f'{value:.3g}'):,.6g}" if value < 1e6 else f"{float(f'{value:.3g}'):,.0f}"
