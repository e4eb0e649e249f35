"""Reader of HammerDB's log of TPROC-C: the result of each run, and the time profile (xtprof) of its procedures.

Form: https://www.hammerdb.com/docs/ (Understanding the TPROC-C workload, Generating Time Profiles) and the driver
scripts of https://github.com/TPC-Council/HammerDB: `TEST RESULT : System achieved N NOPM from M DB TPM`, in versions
before 4.0 `achieved M DB TPM at N NOPM`. Each run becomes `benchmark/NAME`, further runs `benchmark/NAME#2` ... The
profile of all virtual users becomes `benchmark/NAME/process/NEWORD` and so on. HammerDB's clock has no date that this
module reads.

A virtual user draws new orders and payments in 10 of 23 cases each, and the three other transactions in one case each.
Transactions per second are therefore 2.3 times the new orders. The TPM of a database also counts its own commits, and
differs between databases.
"""

from __future__ import annotations

import re
from pathlib import Path

from hypertwin.ingest import text_log
from hypertwin.ingest.benchmarks.load_run import MAX_LINE, LoadRun, Runs, whole
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Rows

TRANSACTIONS_PER_ORDER = 23 / 10
"""Transactions per new order, by the mix of HammerDB's drivers."""
PROCEDURES = ("NEWORD", "PAYMENT", "DELIVERY", "SLEV", "OSTAT")
EXPECTED = {"response_ms_mean": ("the time profile (xtprof)", "response time")}
_AROUND = ' \t\r",'
"""Characters around a line, also in the JSON of `jobs result`."""
_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
_RESULT = re.compile(
    r"(?:Vuser [0-9]{1,6}:)?TEST RESULT : System achieved "
    r"(?:([0-9]{1,12}) NOPM from -?[0-9]{1,12} [A-Za-z0-9 ]{1,40} TPM"
    r"|-?[0-9]{1,12} [A-Za-z0-9 ]{1,40} TPM at ([0-9]{1,12}) NOPM)"
)
_USERS = re.compile(r"(?:Vuser [0-9]{1,6}:)?([0-9]{1,7}) Active Virtual Users configured")
_PERIOD = re.compile(r"(?:Vuser [0-9]{1,6}:)?Timing test period of ([0-9]{1,6}) in minutes")
_SUMMARY = re.compile(r">{3,8} SUMMARY OF [0-9]{1,7} ACTIVE VIRTUAL USERS\b.{0,200}")
_USER = re.compile(r">{3,8} VIRTUAL USER [0-9]{1,7}\b.{0,200}")
_PROCEDURE = re.compile(r">{3,8} PROC: ([A-Z_]{1,40})")
_CALLS = re.compile(
    rf"CALLS: ([0-9]{{1,15}})\s{{1,40}}MIN: {_NUMBER}ms\s{{1,40}}AVG: {_NUMBER}ms\s{{1,40}}MAX: {_NUMBER}ms\b.{{0,200}}"
)
_PERCENTILES = re.compile(rf"P99: {_NUMBER}ms\s{{1,40}}P95: {_NUMBER}ms\b.{{0,300}}")


def recognises(head: bytes) -> bool:
    """True if the file has a line of HammerDB's log or of its time profile."""
    lines = [line.strip(_AROUND) for line in text_log.first_lines(head, 2000) if len(line) < MAX_LINE]
    return any(
        _RESULT.fullmatch(line)
        or _SUMMARY.fullmatch(line)
        or _USER.fullmatch(line)
        or line.startswith(("Hammerdb Log @", "HammerDB CLI v"))
        or (line.startswith("Vuser 1:") and len(line) < 200)
        for line in lines
    )


def read(path: Path) -> Reading:
    """Return the runs in the file."""
    rows = Rows(path, ("benchmark", text_log.stem(path)))
    rows.note("no times: HammerDB's log has no time of a result")
    return rows.reading("hammerdb", Lines(rows), EXPECTED)


class Lines(Runs):
    """Reader of the log, line by line. A profile belongs to the result before it."""

    def __init__(self, rows: Rows) -> None:
        """Start the first run, with the root of `rows`."""
        super().__init__(rows)
        self.threads: int | None = None
        self.next_threads: int | None = None
        """Number of virtual users, printed before the result of their run."""
        self._begin()

    def _begin(self) -> None:
        self.found: dict[str, float] = {}
        self.total_s, self.next_total_s = 0.0, 0.0
        self.profile: dict[str, tuple[int, float]] = {}
        """Calls and mean time in ms of each procedure, over all virtual users."""
        self.in_summary, self.procedure = False, ""

    def feed(self, line: str) -> None:
        """Read one line."""
        text = line.strip(_AROUND) if len(line) < MAX_LINE else ""
        if result := _RESULT.fullmatch(text):
            threads, total_s = self.next_threads, self.next_total_s
            if self.found:
                self._end()
            self.threads, self.next_threads, self.total_s = threads, None, total_s
            orders = float(result[1] or result[2])
            if orders > 0:
                self.found["throughput_per_s"] = orders * TRANSACTIONS_PER_ORDER / 60
            else:
                self.rows.note("a run without new orders is left out")
        elif users := _USERS.fullmatch(text):
            self.next_threads = whole(users[1])
        elif period := _PERIOD.fullmatch(text):
            self.next_total_s = 60 * float(period[1])
        elif _SUMMARY.fullmatch(text) or _USER.fullmatch(text):
            self.in_summary, self.procedure = bool(_SUMMARY.fullmatch(text)), ""
        elif procedure := _PROCEDURE.fullmatch(text):
            self.procedure = procedure[1] if self.in_summary and procedure[1] in PROCEDURES else ""
        elif self.procedure:
            self._profile(text)

    def _profile(self, text: str) -> None:
        if calls := _CALLS.fullmatch(text):
            mean, longest = float(calls[3]), float(calls[4])
            self.profile[self.procedure] = (int(calls[1]), mean)
            self.rows.add(None, "response_ms_mean", mean, "process", self.procedure)
            self.rows.add(None, "response_ms_max", longest, "process", self.procedure)
        elif tail := _PERCENTILES.fullmatch(text):
            self.rows.add(None, "response_ms_p99", float(tail[1]), "process", self.procedure)
            self.rows.add(None, "response_ms_p95", float(tail[2]), "process", self.procedure)

    def finish(self) -> None:
        """Write the last run. Add the notes and gaps."""
        if self.found or self.profile:
            self._end()
        elif self.next_threads is None and not self.count:
            self.rows.note("a run without a result: it was ended, or has failed")
        self.rows.note("throughput is transactions per second: 2.3 times the new orders, by the mix of HammerDB")

    def _end(self) -> None:
        """Write a run with the mean over its procedures, and start the next one."""
        calls = sum(count for count, _ in self.profile.values())
        figures = dict(self.found)
        if calls and set(PROCEDURES) <= self.profile.keys():
            figures["response_ms_mean"] = sum(count * mean for count, mean in self.profile.values()) / calls
        run = LoadRun(figures, self.threads)
        total_s, kept = self.total_s, self.next_total_s
        self._begin()
        self.next_total_s = kept
        self.end(run, total_s)
