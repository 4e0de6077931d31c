"""Reports: what was asked, what was done, what holds, and what risk remains; and the certificate for recipients."""

from veil.report.certificate import certificate_of, check_certificate, write_certificate
from veil.report.digest import content_digest
from veil.report.facts import facts
from veil.report.plots import Plots
from veil.report.writing import write_report

__all__ = [
    "Plots",
    "certificate_of",
    "check_certificate",
    "content_digest",
    "facts",
    "write_certificate",
    "write_report",
]
