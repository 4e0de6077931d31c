"""Reports for the data holder (treatment, verification, risks, utility), and certificates for recipients."""

from veil.report.certificate.certificate import certificate_of, write_certificate
from veil.report.certificate.check import check_certificate
from veil.report.certificate.digest import content_digest
from veil.report.certificate.form import names_of_tables
from veil.report.certificate.keys import PrivateKey, PublicKey
from veil.report.content.facts import collect_facts
from veil.report.pictures.plots import Plots
from veil.report.write import write_report

__all__ = [
    "Plots",
    "PrivateKey",
    "PublicKey",
    "certificate_of",
    "check_certificate",
    "collect_facts",
    "content_digest",
    "names_of_tables",
    "write_certificate",
    "write_report",
]
