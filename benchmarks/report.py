"""Every table behind the page on speed: ``python -m benchmarks.report [folder]``."""

import sys
from pathlib import Path

from needles import timed
from needles.prose import tables
from needles.timed import middle, short, spoken

RESULTS = Path(__file__).parent / "results"


def contestants(peers, cell):
    """Return a row for each contestant, with a cell for each posterior that ranks."""
    rows = {(r["posterior"], r["contestant"]): r for r in peers["rows"]}
    ranked = timed.ranked(peers)
    names = dict.fromkeys(r["contestant"] for r in peers["rows"])
    found = [[short(n), *(cell(rows.get((p, n))) for p in ranked)] for n in names]
    return ["contestant", *map(short, ranked)], found, "l" + "r" * len(ranked)


def rates(data, contest="against_peers"):
    """Effective draws a second; – was not run, in brackets: did not converge."""

    def cell(row):
        said = spoken(middle(row, "ess_per_second"))
        return f"({said})" if row and not row["converged"] else said

    return contestants(data[contest], cell)


def lengths(data):
    """Milliseconds of one run (and cores kept busy); – was not run."""

    def cell(row):
        if not row:
            return "–"
        seconds = middle(row, "seconds")
        return f"{spoken(1000 * seconds)} ({middle(row, 'cpu_seconds') / seconds:.1f})"

    return contestants(data["against_peers"], cell)


def per_gradient(data):
    """Effective draws per 1000 gradients."""
    return contestants(data["against_peers"], lambda r: spoken(middle(r, "ess_per_1000_gradients")))


def cold(data):
    """Seconds from a cold start to 1000 effective draws."""
    return contestants(data["against_peers"], lambda r: spoken(middle(r, "cold", "to_1000")))


def memory(data):
    """Peak memory of a cold process, in MiB."""
    return contestants(data["against_peers"], lambda r: spoken(middle(r, "cold", "peak_mib")))


def agreement(data):
    """Errors of the means: root mean square, in standard errors, and p of the largest."""

    def cell(row):
        found = (row or {}).get("agreement", {})
        return "–" if found.get("rms_z") is None else f"{found['rms_z']:.2f} ({found['p']:.2g})"

    return contestants(data["against_peers"], cell)


def verdicts(data, contest="against_peers"):
    """Every verdict as recorded, bad news first."""
    rows = []
    judged = data[contest]["verdicts"]
    for v in sorted(judged, key=lambda v: timed.VERDICTS.index(v["verdict"])):
        m, limit = v["measured"], v["limit"]
        found = "–" if m is None else spoken(m["median"])
        if m is not None and m["low"] != m["high"]:
            found += f" ({spoken(m['low'])} to {spoken(m['high'])})"
        rows.append([v["verdict"], found, "–" if limit is None else f"{limit:g}",
                     short(v["posterior"]), v["claim"]])  # fmt: skip
    return ["verdict", "measured", "at least", "posterior", "claim"], rows, "lrrll"


def verdicts_again(data):
    """The same on a second machine."""
    return verdicts(data, "against_peers_2")


def rates_again(data):
    """Effective draws a second there; nutpie's own warm-up is compared apart."""
    return rates(data, "against_peers_2")


def flagged(data):
    """Runs of bayeslib that warned."""
    rows = [
        [short(r["posterior"]), short(r["contestant"]), r["flagged"], len(r.get("runs", []))]
        for r in data["against_peers"]["rows"] if "flagged" in r
    ]  # fmt: skip
    return ["posterior", "contestant", "warned", "runs"], rows, "llrr"


def plain_c(data):
    """Time for a step, and for a sweep of the Ising model, over the same in the fastest C."""
    rows = [[r["algorithm"], r["target"], f"{r['ratio']:.3g}"] for r in data["against_c"]["rows"]]
    rows += [[f"ising, {r['method']}", f"{r['size']}, field {r['field']:g}", f"{r['ratio']:.3g}"]
             for r in data["ising"]["rows"]]  # fmt: skip
    return ["loop", "of", "time / time of C"], rows, "llr"


def gradients(data):
    """Time for density and automatic gradient, over the same with the gradient by hand, or over
    the value alone."""
    rows = data["gradients"]["rows"]
    found = [[short(r["posterior"]), r["variant"], r["by"], f"{r['ratio']:.3g}"] for r in rows]
    return ["posterior", "variant", "over", "ratio"], found, "lllr"


def growth(data):
    """Seconds to 1000 effective draws as models grow (in brackets: did not converge), and MiB."""
    found = []
    for row in data["growth"]["rows"]:
        said = spoken(middle(row, "to_1000"))
        said = said if row["converged"] else f"({said})"
        found.append([row["family"], f"{row['size']:,}", short(row["contestant"]), said,
                      spoken(row["peak_mib"])])  # fmt: skip
    return ["family", "size", "contestant", "seconds", "MiB"], found, "lrlrr"


def witness(data):
    """How far nutpie's means are from those that only our own nuts knows, at most."""
    rows = [
        [r["name"], r["dim"], f"{r['sds']:.3f}", f"{r['errors']:.1f}", f"{r['rhat']:.3f}"]
        for r in data["witness"]["rows"]
    ]
    return ["posterior", "dimension", "in sds", "in errors", "R-hat"], rows, "lrrrr"


def posteriordb(data):
    """Silent and flagged answers to posteriors of others, and how many of each were wrong."""
    rows = [[name, *counts] for name, counts in timed.judged(data["posteriordb"]["rows"]).items()]
    return ["method", "silent", "of these wrong", "flagged", "of these wrong"], rows, "lrrrr"


def dates(data):
    """When each benchmark ran (UTC; the contest in parts), the load after it, and where."""
    rows = [
        [name.replace("_", " "), d["date"].replace("T", " ")[:16],
         "–" if d.get("load") is None else f"{d['load']:.1f}", d["machine"].get("processor", "–"),
         d["machine"].get("cores", "–")]
        for name, d in data.items()
    ]  # fmt: skip
    return ["benchmark", "measured", "load", "processor", "cores"], rows, "llrlr"


def versions(data):
    """What ran."""
    known = {"bayeslib's": data["against_peers"]["machine"]}
    known["peers"] = data["against_peers"].get("versions", {})
    rows = [[whose, name, said] for whose, found in known.items() for name, said in found.items()]
    return ["whose", "what", "version"], rows, "lll"


PARTS = (verdicts, rates, lengths, per_gradient, cold, memory, agreement, verdicts_again,
         rates_again, flagged, plain_c, gradients, growth, witness, posteriordb, dates,
         versions)  # fmt: skip


def report(folder=RESULTS):
    """Return the report as text."""
    return "\n\n".join(tables(PARTS, timed.load(folder)))


if __name__ == "__main__":
    print(report(*sys.argv[1:]))
