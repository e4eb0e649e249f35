"""Generator of docs/findings.md: every rule with its bands, sources and required data."""

from __future__ import annotations

from hypertwin.diagnosis.rule import Band, Rule
from hypertwin.diagnosis.rules import RULES
from hypertwin.documents.diagnosis import SEVERITIES
from hypertwin.metrics.words import amount

_HEAD = """# Findings of `hypertwin diagnose`

<!-- Generated from python/hypertwin/diagnosis/ by `make docs`. -->

[Diagnosis](guides/diagnosis.md) explains how to read findings. Codes are stable. A value at a limit is within it.
Limits of VMs are per vCPU, never summed. The listed sources publish the limits. Limits marked (own) are hypertwin's:
sources publish none for them, or a different one.

| code | problem |
|---|---|
"""


def to_markdown() -> str:
    """Return the page about all rules, with a table of codes and a section for each rule."""
    table = "".join(f"| [`{rule.code}`](#{rule.code}) | {rule.title} |\n" for rule in RULES)
    return f"{_HEAD}{table}\n" + "\n".join(map(_section, RULES))


def _section(rule: Rule) -> str:
    parts = [f"## {rule.code}\n", f"**{rule.title}.** {rule.says.replace('../models', 'models')}\n"]
    if rule.bands:
        parts.append("| figure | info | warning | critical |\n|---|---|---|---|\n" + "".join(map(_row, rule.bands)))
    needs = "; ".join(need.words for need in rule.needs)
    references = "; ".join(
        f"[{each.title}]({each.address})" if each.address else each.title for each in rule.references
    )
    parts.append(f"Needs: {needs}.\n\nSources: {references}.\n")
    return "\n".join(parts)


def _row(band: Band) -> str:
    limits = dict(band.limits())
    sign = "<" if band.below else ">"
    cells = [
        f"{sign} {amount(limits[name], band.unit)}{' (own)' * (name in band.own)}" if name in limits else ""
        for name in reversed(SEVERITIES)
    ]
    return f"| {band.what} (`{band.metric}`) | {' | '.join(cells)} |\n"
