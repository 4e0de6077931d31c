"""What a release still reveals."""

from veil.risk.sample import Risk, sample_risk

__all__ = ["Risk", "sample_risk"]
