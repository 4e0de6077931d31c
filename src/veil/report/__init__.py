"""Reports: what was asked, what was done, what holds, and what risk remains."""

from veil.report.facts import facts
from veil.report.html import write_report

__all__ = ["facts", "write_report"]
