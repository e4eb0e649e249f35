"""Execution of a campaign: data, warm-up, runs that start in step, raw output, and removal of all that was made.

A run of a step uses the first VMs of the plan. Every VM gets its shell text at once, and starts at one time of its own
clock. An observed host takes snapshots of its counters at that time. All runs of a repeat follow each other in the
order of the plan, backwards, or shuffled.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hypertwin.benchmark import checks, counters, esxi, measured, scripts, telemetry
from hypertwin.benchmark.checks import Checked
from hypertwin.benchmark.counters import Counters
from hypertwin.benchmark.folder import Folder
from hypertwin.benchmark.load import Figures
from hypertwin.benchmark.load.generator import SECRET, OutputError
from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.scripts import Work
from hypertwin.benchmark.shell import Done, Shells, TargetError
from hypertwin.benchmark.step import Step
from hypertwin.benchmark.target import Target
from hypertwin.documents.benchmark import Run, View
from hypertwin.errors import HypertwinError, printable, short
from hypertwin.ingest.outside import number
from hypertwin.runs.simulation import LabelledProgress

LEAD_S = 1.5
"""Time from sending shell text to the start of the warm-up."""
LEAD_PER_VM_S = 0.05
PREPARE_S = 4 * 3600.0
REMOVE_S = 600.0
STOP_S = 20.0
GUARD_PERIOD_S = 3.0
MAX_KEPT = 16 * 2**20
"""Maximum length of a kept file of raw output."""


class CampaignError(HypertwinError):
    """Raised if a campaign cannot start or go on. What was measured is kept."""

    code = "benchmark-failed"


@dataclass
class Campaign:
    """Campaign on its targets."""

    folder: Folder
    plan: Plan
    shells: Shells
    progress: LabelledProgress | None = None
    checked: Checked | None = None
    _guard: str = ""

    # ---- before and after

    def check(self, *, install: bool = False) -> Checked:
        """Check all targets and hosts, and install missing programs if asked.

        Raises CampaignError with everything that prevents a start.
        """
        found = checks.check(self.plan, self.shells)
        if install and any(checks.missing(self.plan, each) for each in found.facts.values()):
            self._install(found)
            found = checks.check(self.plan, self.shells)
        if found.errors:
            lines = [f"{each.target}: {each.text}{f' ({each.fix})' if each.fix else ''}" for each in found.errors[:20]]
            raise CampaignError("the campaign cannot start\n" + "\n".join(f"  {line}" for line in lines))
        self.checked = found
        return found

    def _install(self, found: Checked) -> None:
        for target in self.plan.targets:
            facts = found.facts.get(target.name)
            command = None if facts is None else checks.install(self.plan, facts)
            if command is None:
                continue
            self._say(f"{target.name}: {command}", 0, 0)
            done = self.shells.run(target, f"DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND\n{command}\n", 900)
            if done.code:
                raise CampaignError(f"{target.name}: `{command}` failed: {done.reason}")

    def prepare(self) -> None:
        """End what an earlier process left running, and make the data where they are missing."""
        self.stop()
        ready = set(self.folder.state["prepared"])
        places = (*self.plan.targets, *self.plan.hosts)
        waiting = [target for target in places if target.name not in ready]
        # the folder is known before it is made, so that a campaign that ends now can remove it
        self.folder.change(touched=[target.name for target in places])
        done = 0
        with self._guarded(waiting), self._all(waiting, self._prepare) as finished:
            for target in finished:
                done += 1
                ready.add(target.name)
                with _STATE:
                    self.folder.change(prepared=sorted(ready))
                self._say("making data", done, len(waiting))

    def _prepare(self, target: Target) -> None:
        work = self._work(target)
        self._done(target, self.shells.run(target, scripts.begin(work), STOP_S), "the work folder cannot be made")
        if target not in self.plan.targets:
            return
        # data of an attempt that was ended in the middle are made anew
        self._remove_data(target)
        text = self.plan.load.prepare(target)
        done = self.shells.run(target, scripts.prepare(work, text, PREPARE_S), PREPARE_S, self._secrets())
        self._done(target, done, "its data cannot be made")

    def _remove_data(self, target: Target) -> None:
        if target.name in self.folder.state.get("filling", []):
            text = scripts.prepare(self._work(target), self.plan.load.cleanup(target), REMOVE_S)
            self._done(target, self.shells.run(target, text, REMOVE_S, self._secrets()), "old data cannot be removed")
        with _STATE:
            filling = {*self.folder.state.get("filling", []), target.name}
            self.folder.change(filling=sorted(filling))

    def remove(self) -> None:
        """Remove data and work folders from all targets and hosts, also if one of them fails.

        Raises CampaignError with each that failed. What is left there can be removed later.
        """
        self.stop()
        failed: list[str] = []

        def end(target: Target) -> None:
            try:
                self._remove(target)
            except (CampaignError, TargetError) as error:
                failed.append(str(error))

        with self._all(self._touched(), end) as finished:
            for _ in finished:
                pass
        if failed:
            raise CampaignError("\n".join(sorted(failed)))

    def _remove(self, target: Target) -> None:
        is_target = target in self.plan.targets
        text = scripts.remove(self._work(target), self.plan.load.cleanup(target) if is_target else "", REMOVE_S)
        done = self.shells.run(target, text, REMOVE_S, self._secrets() if is_target else None)
        self._done(target, done, "its data cannot be removed")
        with _STATE:
            state = self.folder.state
            self.folder.change(**{key: [name for name in state.get(key, []) if name != target.name] for key in _LISTS})

    def stop(self) -> None:
        """End all loads of this campaign. Those that do not answer are left to their time limits."""

        def end(target: Target) -> None:
            try:
                self.shells.run(target, scripts.stop(self._work(target)), STOP_S)
            except TargetError:
                return

        with ThreadPoolExecutor(max_workers=32) as pool:
            list(pool.map(end, self._touched()))

    def _touched(self) -> list[Target]:
        """Return the targets and hosts on which the campaign has made anything."""
        touched = self.folder.state.get("touched", [])
        return [each for each in (*self.plan.targets, *self.plan.hosts) if each.name in touched]

    # ---- runs

    def pending(self) -> list[tuple[int, Step]]:
        """Return the runs that are left, in their order."""
        plan = self.plan
        return [
            (repeat, step)
            for repeat in range(plan.repeats)
            for step in plan.order(repeat)
            if not self.folder.is_done(step, repeat)
        ]

    def measure(self, runs: Sequence[tuple[int, Step]]) -> None:
        """Measure runs one after another. Raises CampaignError, TargetError."""
        for place, (repeat, step) in enumerate(runs):
            self._say(f"{step.title}, repeat {repeat + 1}", place, len(runs))
            self._run(step, repeat)
            if place + 1 < len(runs):
                time.sleep(self.plan.pause_s)
        self._say("measured", len(runs), len(runs))

    def _run(self, step: Step, repeat: int) -> None:
        assert self.checked is not None
        plan, facts = self.plan, self.checked.facts
        kept = self.folder.clear(step, repeat)
        targets = list(plan.targets[: step.vms])
        begin = time.time() + LEAD_S + LEAD_PER_VM_S * len(targets) + plan.warmup_s
        limit = (begin - time.time()) + plan.duration_s + 2 * scripts.SLACK_S

        def work(target: Target) -> Done:
            if target in plan.esxi:
                time.sleep(max(0.0, begin - time.time()))
                return self.shells.run(target, esxi.command(target, plan.duration_s), limit)
            is_host = target not in targets
            run = "" if is_host else plan.load.run(step, target, plan.duration_s)
            warm = "" if is_host or plan.warmup_s == 0 else plan.load.run(step, target, plan.warmup_s)
            text = scripts.measure(
                self._work(target),
                run,
                warm,
                begin + facts[target.name].offset_s,
                seconds=plan.duration_s,
                warmup_s=plan.warmup_s,
                cgroups=self._cgroups(target) if is_host else {},
                extra=target.collect,
            )
            return self.shells.run(target, text, limit, self._secrets() if run else None)

        started = self.folder.state.get("first") or _utc(begin)
        self.folder.change(first=started)
        answers: dict[str, Done] = {}
        with (
            self._guarded([*targets, *plan.hosts]),
            self._all([*targets, *plan.hosts, *plan.esxi], work, answers) as finished,
        ):
            for _ in finished:
                pass
        for target in (*targets, *plan.hosts, *plan.esxi):
            self._done(target, answers[target.name], f"{step.title} cannot be measured")
        for host in plan.esxi:
            (kept / host.name).mkdir()
            (kept / host.name / esxi.FILE).write_bytes(answers.pop(host.name).out)
        files = {name: self._keep(kept / name, done) for name, done in answers.items()}
        self.folder.keep(step, repeat, self._read(step, repeat, targets, files))

    def _keep(self, folder: Path, done: Done) -> dict[str, bytes]:
        """Write the raw output of a target or host, and return it by name."""
        folder.mkdir(exist_ok=True)
        found = scripts.frames(done.out)
        for name, content in found.items():
            (folder / name).write_bytes(content[:MAX_KEPT])
        if done.err.strip():
            (folder / "messages").write_text(done.err, encoding="utf-8")
        return found

    def _read(
        self, step: Step, repeat: int, targets: Sequence[Target], files: Mapping[str, Mapping[str, bytes]]
    ) -> Run:
        """Return the figures of a run. Raises CampaignError if a target has none."""
        assert self.checked is not None
        facts = self.checked.facts
        vcpus = int(self.folder.scenario().data["vms"][self.plan.group]["vcpus"])
        hosts = {host.name: _counters(files[host.name]) for host in self.plan.hosts}
        boots = [facts[each.name].boot for each in (*self.plan.targets, *self.plan.hosts)]
        figures: dict[str, Figures] = {}
        views: list[View] = []
        starts: list[float] = []
        notes: list[str] = []
        for target in targets:
            own = files[target.name]
            found = self._figures(step, repeat, target, own)
            began = number(own.get("started", b"").decode("ascii", "replace").strip())
            starts += [] if began is None else [began - facts[target.name].offset_s]
            counted, host = _counters(own), hosts.get(target.host or "")
            shares = boots.count(facts[target.name].boot) > 1
            more = measured.guest_figures(target.name, counted, host, vcpus, shares_kernel=shares)
            figures[target.name] = found.with_values(more)
            group = None if host is None else host.groups.get(target.name)
            view = measured.view(
                target.name,
                None if shares else counted,
                host=False,
                throttled_pct=None if group is None else group.throttled_pct,
            )
            view["busy_pct"] = more.get("guest_cpu_pct", more.get("run_pct"))
            views.append(view)
        views += self._telemetry(targets, figures, starts, notes, vcpus)
        views += [measured.view(name, counted, host=True) for name, counted in hosts.items()]
        views += self._esxi(self.folder.run_folder(step, repeat), targets, figures, notes, vcpus)
        skew = 1000 * (max(starts) - min(starts)) if len(starts) > 1 else None
        return {
            "repeat": repeat + 1,
            "started": _utc(min(starts)) if starts else "",
            "skew_ms": skew,
            "figures": measured.together(figures),
            "vms": {name: dict(each.values) for name, each in figures.items()},
            "views": views,
            "disturbed": measured.disturbed(views, skew),
            "notes": list(dict.fromkeys([*notes, *(note for each in figures.values() for note in each.notes)])),
        }

    def _telemetry(
        self,
        targets: Sequence[Target],
        figures: dict[str, Figures],
        starts: Sequence[float],
        notes: list[str],
        vcpus: int,
    ) -> list[View]:
        """Return the views of hosts by the server of telemetry, and add its figures of VMs."""
        if self.plan.telemetry is None or not starts:
            return []
        begin = min(starts)
        found, reason = telemetry.read(self.plan.telemetry, begin, begin + self.plan.duration_s)
        if reason:
            notes.append(f"no telemetry of hosts: {reason}")
            return []
        for target in targets:
            more = telemetry.vm(found, target.vm or target.name, vcpus)
            figures[target.name] = figures[target.name].with_values(more)
        names = dict.fromkeys(each.host for each in targets if each.host is not None)
        return [each for name in names if (each := telemetry.host(found, name)) is not None]

    def _figures(self, step: Step, repeat: int, target: Target, files: Mapping[str, bytes]) -> Figures:
        code = files.get("rc", b"").decode("ascii", "replace").strip()
        if code != "0":
            messages = (files.get("err", b"") + files.get("out", b"")).decode("utf-8", "replace").splitlines()
            lines = [line for line in messages if line.strip()][-3:]
            how = {"": "did not end", "124": "did not end in time", "137": "was killed"}.get(code, f"exit code {code}")
            said = printable(short("; ".join(lines), 300))
            raise CampaignError(f"{target.name}: the load failed ({how}) at {step.title}, repeat {repeat + 1}: {said}")
        output = self.folder.run_folder(step, repeat) / target.name / "out"
        try:
            return self.plan.load.read(output)
        except OutputError as error:
            reason = printable(short(str(error), 200))
            raise CampaignError(
                f"{target.name}: the output of the load at {step.title} cannot be read: {reason}\n"
                f"  help: it is in {output}"
            ) from None

    def _esxi(
        self, kept: Path, targets: Sequence[Target], figures: dict[str, Figures], notes: list[str], vcpus: int
    ) -> list[View]:
        """Return the views of ESXi hosts, and add their figures of VMs."""
        views: list[View] = []
        for host in self.plan.esxi:
            names = {each.name: each.vm or each.name for each in targets if each.host == host.name}
            view, found, reason = esxi.read(kept / host.name / esxi.FILE, host, names, vcpus)
            views += [] if view is None else [view]
            notes += [f"esxtop of {host.name}: {reason}"] if reason else []
            for name, more in found.items():
                figures[name] = figures[name].with_values(more)
        return views

    # ---- helpers

    def _cgroups(self, host: Target) -> dict[str, str]:
        return {each.name: each.cgroup for each in self.plan.targets if each.host == host.name and each.cgroup}

    def _work(self, target: Target) -> Work:
        return _work(target, self.folder.state["id"])

    def _secrets(self) -> dict[str, str]:
        """Return the password of the database, from the environment. Raises CampaignError if it is not there."""
        name = self.plan.load.password_from
        if name is None:
            return {}
        if name not in os.environ:
            raise CampaignError(f"the environment variable {name} is not set; the plan reads the password from it")
        return {SECRET: os.environ[name]}

    @staticmethod
    def _done(target: Target, done: Done, what: str) -> None:
        if done.code:
            raise CampaignError(f"{target.name}: {what}: {done.reason}")

    @contextmanager
    def _all(
        self,
        places: Sequence[Target],
        work: Callable[[Target], Done | None],
        answers: dict[str, Done] | None = None,
    ) -> Iterator[Iterator[Target]]:
        """Provide targets and hosts in the order in which their work ends. After a failure, all work is ended."""
        pool = ThreadPoolExecutor(max_workers=max(1, len(places)))
        futures: dict[Future[Done | None], Target] = {pool.submit(work, each): each for each in places}

        def finished() -> Iterator[Target]:
            waiting = set(futures)
            while waiting:
                ended, waiting = wait(waiting, timeout=0.5, return_when=FIRST_EXCEPTION)
                for future in sorted(ended, key=lambda each: futures[each].name):
                    found = future.result()
                    if answers is not None and found is not None:
                        answers[futures[future].name] = found
                    yield futures[future]
                if self._guard:
                    raise CampaignError(self._guard)

        try:
            yield finished()
        except BaseException:
            # again until nothing runs, because a thread can be between two commands
            left = {each for each in futures if not each.cancel()}
            while left:
                self.shells.kill()
                self.stop()
                left = wait(left, timeout=0.5).not_done
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def _guarded(self, places: Sequence[Target]) -> Iterator[None]:
        """Watch the guards while data are made, or during a run."""
        over = threading.Event()
        self._guard = ""

        def watch() -> None:
            before: dict[str, str] = {}
            while not over.wait(GUARD_PERIOD_S):
                for target in places:
                    try:
                        text = self.shells.run(target, scripts.watch(self._work(target)), STOP_S, most=2**20)
                    except TargetError:
                        continue
                    now = text.out.decode("utf-8", "replace")
                    found = counters.between(before.get(target.name, ""), now)
                    before[target.name] = now
                    self._guard = self._guard or _crossed(target.name, found, self.plan.guards)

        watcher = threading.Thread(target=watch, daemon=True) if self.plan.guards else None
        if watcher is not None:
            watcher.start()
        try:
            yield
        finally:
            over.set()
            if watcher is not None:
                watcher.join(GUARD_PERIOD_S + STOP_S)

    def _say(self, label: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(label, done, total)


_LISTS = ("prepared", "touched", "filling")
_STATE = threading.Lock()


def commands(plan: Plan, shells: Shells, id: str = "ID") -> Iterator[tuple[str, str, str]]:
    """Yield every command of a campaign with its purpose and its shell text, without running any."""
    for target in (*plan.targets, *plan.hosts):
        words = " ".join(shells.words(target))
        yield f"check {target.name}", words, scripts.facts(plan.load.programs(), target.folder, checks.PROBE_S)
    for target in plan.targets:
        work = _work(target, id)
        words = " ".join(shells.words(target))
        text = scripts.begin(work) + scripts.prepare(work, plan.load.prepare(target), PREPARE_S)
        yield f"make data on {target.name}", words, text
    for step in plan.steps:
        for target in plan.targets[: step.vms]:
            work = _work(target, id)
            run, warm = (plan.load.run(step, target, each) for each in (plan.duration_s, plan.warmup_s))
            text = scripts.measure(
                work,
                run,
                warm if plan.warmup_s else "",
                0.0,
                seconds=plan.duration_s,
                warmup_s=plan.warmup_s,
                cgroups={},
            )
            yield f"{step.title}: load on {target.name}", " ".join(shells.words(target)), text
    for host in plan.esxi:
        yield f"observe {host.name}", " ".join(shells.words(host)), esxi.command(host, plan.duration_s)
    for target in plan.targets:
        text = scripts.remove(_work(target, id), plan.load.cleanup(target), REMOVE_S)
        yield f"remove data from {target.name}", " ".join(shells.words(target)), text


def _work(target: Target, id: str) -> Work:
    return Work(target.folder, f"{id}-{target.name}")


def _counters(files: Mapping[str, bytes]) -> Counters | None:
    before, after = (files.get(name, b"").decode("utf-8", "replace") for name in ("before", "after"))
    return counters.between(before, after)


def _crossed(name: str, found: Counters | None, guards: Mapping[str, float]) -> str:
    """Return the guard that a target or host has crossed, in words, or an empty text."""
    if found is None:
        return ""
    for key, limit in guards.items():
        value = found.figure(key)
        if value is not None and (value < limit if key == "free_space" else value > limit):
            return f"{name}: {key} is {value:,.4g}, and the guard is {limit:,.4g}: all loads were ended"
    return ""


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
