"""Sentences about a refresh: the verdict on each candidate, and notes on what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterator

from hypertwin.documents import refresh as documents
from hypertwin.metrics.words import count, number, some


def verdict(found: documents.Candidate, document: documents.Refresh) -> str:
    """Return the verdict on a candidate in a sentence or two."""
    if not found["feasible"]:
        return f"Not possible: {found['reason']}."
    if found["kind"] == "present":
        return f"{count(found['hosts'] or 0, 'host')} now.{_full(found)}"
    if found["kind"] == "grown":
        return f"The present hosts with {number(document['asked']['growth_pct'])}% more VMs.{_slow(found)}"
    hosts = f"{_bought(found)} {'replace' if not _keeps(found) else 'join'} {_present(found, document)}{_range(found)}."
    return f"{hosts}{_slow(found)}"


def _keeps(found: documents.Candidate) -> bool:
    return any(each["kept"] for each in found["clusters"])


def _bought(found: documents.Candidate) -> str:
    parts = [f"{many} {name}" for name, many in found["new_hosts"].items() if many]
    return some(parts) if parts else "No new hosts"


def _present(found: documents.Candidate, document: documents.Refresh) -> str:
    if _keeps(found):
        kept = sum(len(each["kept"]) for each in found["clusters"])
        gone = (document["present"]["hosts"] or 0) - kept
        return count(kept, "kept host") + (f" and replace {count(gone, 'host')}" if gone else "")
    return count(document["present"]["hosts"] or 0, "host")


def _range(found: documents.Candidate) -> str:
    """Return the number of hosts at both ends of the speed of new processors."""
    fast, middle, slow = found["hosts_if_fast"], found["hosts"], found["hosts_if_slow"]
    if slow is None:
        return ", but if the processors are at the slow end of published results, no number of hosts is enough"
    if fast in (None, middle) and slow == middle:
        return ""
    return f" ({fast} to {slow} hosts in all, by the range of published results)"


def _full(found: documents.Candidate) -> str:
    lost = [each["cluster"] for each in found["clusters"] if not each["survives"]]
    return f" Not every VM restarts after a failure: {some(lost)}." if lost else ""


def _slow(found: documents.Candidate) -> str:
    """Return the twin's word, the loss first."""
    twin = found["twin"]
    if twin is None:
        return ""
    parts = []
    response, ready, failed = twin["normal"]["response"], twin["normal"]["ready_pct"], twin["failure"]
    if response is not None:
        slower = f", {count(response['slower'], 'VM')} slower" if response["slower"] else ""
        parts.append(f"response p99 is {number(100 * response['median'])}% of now (median of VMs{slower})")
    if ready is not None:
        after = failed["ready_pct"] if failed is not None else None
        then = "" if after is None else f", {number(after['mean'])}% after a failure"
        parts.append(f"ready at most {number(ready['mean'])}%{then}")
    if not parts:
        return ""
    text = "; ".join(parts)
    if found["slower"]:
        return f" But VMs are slower: {text}."
    return f" {text[0].upper()}{text[1:]}."


def notes(document: documents.Refresh) -> list[str]:
    """Return notes on the demand, on what was left out, and on what is not modelled."""
    return list(_notes(document))


def _notes(document: documents.Refresh) -> Iterator[str]:
    demand, asked = document["demand"], document["asked"]
    for each in demand["text"]:
        yield f"CPU demand: {each}."
    if demand["is_old"]:
        yield f"The demand was measured {demand['age_days']} days ago: measure it again before you buy."
    if asked["growth_pct"]:
        yield (
            f"Growth of at least {number(asked['growth_pct'])}% in total is planned as more VMs like the present ones: "
            f"{number(demand['grown_vcpus_pct'])}% more vCPUs, {number(demand['grown_memory_pct'])}% more memory."
        )
    if demand["guessed_hosts"]:
        yield f"The present host of {count(demand['guessed_hosts'], 'VM')} is a guess."
    if document["rules_left_out"]:
        yield f"Rules about replaced hosts are left out: {some(document['rules_left_out'])}. Set them again."
    if document["grown"] is None and asked["growth_pct"] and document["present"]["twin"] is not None:
        yield "The present hosts could not be simulated with the growth: its VMs do not fit there."
    twin = document["present"]["twin"]
    if twin is not None and twin["normal"]["response_ms_p99"] is None:
        yield "No VM has a response time, so speeds are compared by ready time only."
    if twin is not None:
        yield "Simulated with the mean load of VMs. A VM has the same work on every host."
    yield (
        "Published throughput is of integer programs on all threads. A program on few threads gains less from more "
        "cores, and another mix of programs can differ by more than the range here."
    )
    yield "Not modelled: delivery times, the move itself, and power of networks and of external storage."
