"""Builds and runs bench/kernels against their peers and prints the table. Called by bench/run --peers.

Arguments: the project's folder, bailey, options of bench/run after --peers. Writes build/bench/peers.json for bench/plot.
"""
import argparse
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys

PEERS = ["pocl", "gcc", "clang", "vec"]
TITLES = {"pocl": "PoCL", "gcc": "OpenMP gcc", "clang": "OpenMP clang", "vec": "by hand"}


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def alone(processors):
    """In the process that measures: its processors, and before others where that is allowed."""
    os.sched_setaffinity(0, processors)
    os.setsid()
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write("-20")
    except OSError:
        pass


class Bench:
    def __init__(self, top, bailey):
        self.bailey = bailey
        self.source = os.path.join(top, "bench")
        self.folder = os.path.join(top, "build", "bench", "peers")
        os.makedirs(self.folder, exist_ok=True)
        self.kernels = os.path.join(self.source, "kernels")
        self.nvcc = next((n for n in (shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc") if n and os.path.exists(n)), None)
        self.clang = "clang-19"

    def names(self):
        return sorted(f[:-3] for f in os.listdir(self.kernels) if f.endswith(".cu"))

    def call(self, command, result, sources):
        """Runs the command unless its result is newer than all sources. None, or the error."""
        if os.path.exists(result) and all(os.path.getmtime(s) < os.path.getmtime(result) for s in sources):
            return None
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return None if done.returncode == 0 else (done.stderr or done.stdout or "failed").strip()

    def build(self, name):
        """Builds a kernel's sides. None, or the error."""
        kernel = os.path.join(self.kernels, name)
        common = [os.path.join(self.source, f) for f in ("harness.h", "cuda.h")] + [kernel + ".h"]
        flags = ["-O3", "-march=native", "-fopenmp", "-Wall", "-Wextra", "-shared", "-fPIC"]
        jobs = []
        for peer, compiler, source in (("gcc", "gcc", ".c"), ("clang", self.clang, ".c"), ("vec", self.clang, ".vec.c"),
                                       ("cl", "gcc", ".cl")):
            if os.path.exists(kernel + source):
                out = os.path.join(self.folder, f"{name}.{peer}.so")
                jobs.append(([compiler, *flags, "-x", "c", kernel + source, "-o", out, "-lm"], out, [kernel + source]))
        objects = []
        for part in ("harness", "opencl"):
            out = os.path.join(self.folder, part + ".o")
            source = os.path.join(self.source, part + ".c")
            objects.append(out)
            jobs.append((["gcc", "-O2", "-Wall", "-Wextra", "-c", source, "-o", out], out, [source]))
        out = os.path.join(self.folder, name)
        compiler = [self.nvcc, "-arch=compute_80", "-code=compute_80"] if self.nvcc else [self.bailey, "nvcc"]
        link = ["-Xlinker", "--export-dynamic"]
        jobs.append(([*compiler, "-O3", "-std=c++17", kernel + ".cu", *objects, *link, "-lOpenCL", "-ldl", "-lm", "-o", out], out,
                     [kernel + ".cu", *objects]))
        for command, result, sources in jobs:
            error = self.call(command, result, sources + common)
            if error:
                return f"{' '.join(command[:2])} …: {error}"
        return None

    def compile_ms(self, name):
        """Processor time in ms that bailey-cc takes for the kernels of a benchmark, starting anew for each; None without nvcc."""
        ptx = os.path.join(self.folder, name + ".ptx")
        source = os.path.join(self.kernels, name + ".cu")
        if not self.nvcc or self.call([self.nvcc, "-arch=compute_80", "-O3", "-std=c++17", "-ptx", source, "-o", ptx], ptx,
                                      [source, os.path.join(self.kernels, name + ".h")]):
            return None
        compiler = os.path.join(os.path.dirname(self.bailey), "..", "libexec", "bailey", "bailey-cc")
        total = 0
        with open(ptx, encoding="utf-8") as file:
            entries = re.findall(r"\.entry (\w+)", file.read())
        for entry in entries:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([compiler, ptx, "--kernel", entry, "-o", os.devnull], capture_output=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            total += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if done.returncode != 0:
                return None
        return total * 1e3

    def run(self, name, runs, threads):
        """Runs a kernel with so many threads on as many processors; gives {side: {...}}, or None and the error. A kernel of ours
        that holds what the device does not support yet is skipped, with the reason."""
        cache = os.path.join(self.folder, "cache")
        for sub in ("bailey", "pocl"):
            shutil.rmtree(os.path.join(cache, sub), ignore_errors=True)
            os.makedirs(os.path.join(cache, sub))
        count = str(threads)
        env = dict(os.environ, BAILEY_CACHE_DIR=os.path.join(cache, "bailey"), POCL_CACHE_DIR=os.path.join(cache, "pocl"),
                   BAILEY_THREADS=count, OMP_NUM_THREADS=count, POCL_MAX_PTHREAD_COUNT=count,
                   # Idle threads of one side would take time from the next.
                   OMP_WAIT_POLICY="passive", KMP_BLOCKTIME="0")
        processors = sorted(os.sched_getaffinity(0))[:threads]
        done = subprocess.run([self.bailey, "run", os.path.join(self.folder, name), self.source, self.folder, name, str(runs),
                               count], capture_output=True, text=True, check=False, env=env, timeout=900,
                              preexec_fn=lambda: alone(processors))
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            missing = [line for line in lines if "not supported" in line]
            if missing:
                return None, "skipped: " + missing[0][-300:]
            return None, f"FAILED: exit {done.returncode}: " + " | ".join(lines)[-500:]
        sides = {}
        for line in done.stdout.splitlines():
            fields = line.split("\t")
            if fields[0] == "work":
                sides["work"] = {"amount": float(fields[1]), "unit": fields[2]}
                continue
            side, answer, disturbed, first, *times = fields
            sides[side] = {"answer": answer, "disturbed": float(disturbed), "first": float(first),
                           "times": [float(t) for t in times]}
        return sides, None


def median(sides, side):
    return statistics.median(sides[side]["times"])


def ratio(sides, peer):
    """The peer's time over ours: above 1 we are faster. None where there is no such peer."""
    return median(sides, peer) / median(sides, "bailey") if peer in sides else None


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def cell(value, width, digits=2):
    return f"{value:{width}.{digits}f}" if value else " " * (width - 1) + "-"


def print_row(name, sides):
    ours = sides["bailey"]
    work = sides["work"]
    first_ms = (ours["first"] - median(sides, "bailey")) * 1e3
    cells = " ".join(cell(ratio(sides, p), 13) for p in PEERS)
    speed = f"{work['amount'] / median(sides, 'bailey'):9.2f} {work['unit']}"
    present = [s for s in ["bailey", *PEERS] if s in sides]
    notes = "".join(f"  {s} {sides[s]['answer']}" for s in present if sides[s]["answer"] != "ok")
    disturbed = max(sides[s]["disturbed"] for s in present)
    if disturbed > 0.1:
        notes += f"  (disturbed: {disturbed:.0%})"
    print(f"{name:17} {median(sides, 'bailey') * 1e3:8.2f} ({min(ours['times']) * 1e3:.2f} to {max(ours['times']) * 1e3:.2f})".ljust(46)
          + f"{cells} {cell(sides['compile_ms'], 8, 0)} {first_ms:8.0f}   {speed}{notes}", flush=True)


def print_means(results):
    print(f"{'geometric mean':46}" + " ".join(cell(mean(ratio(s, p) for s in results.values()), 13) for p in PEERS))
    better = [min(ratio(s, "gcc"), ratio(s, "clang")) for s in results.values()]
    print(f"geometric mean over the better OpenMP build: {mean(better):.2f} (goal 1.3), least {min(better):.2f} (goal 0.8)")
    pocl = [ratio(s, "pocl") for s in results.values() if "pocl" in s]
    if pocl:
        print(f"geometric mean over PoCL: {mean(pocl):.2f} (goal 4), least {min(pocl):.2f} (goal 1)")
    hand = [ratio(s, "vec") for s in results.values() if "vec" in s]
    if hand:
        print(f"geometric mean over those by hand: {mean(hand):.2f} (goal 0.85), least {min(hand):.2f}")
    compile_ms = [s["compile_ms"] for s in results.values() if s["compile_ms"]]
    if compile_ms:
        print(f"bailey-cc for one benchmark: median {statistics.median(compile_ms):.0f} ms of processor time (goal 20)")


def machine():
    model = re.search(r"^model name.*: (.*)$", open("/proc/cpuinfo", encoding="utf-8").read(), re.M)
    return f"{model.group(1) if model else 'unknown'}, {len(os.sched_getaffinity(0))} processors, {output_of('uname', '-sr')}"


def main():
    parser = argparse.ArgumentParser(prog="bench/run --peers")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="some of bench/kernels; none: all")
    parser.add_argument("--threads", default=str(len(os.sched_getaffinity(0))), metavar="N[,M…]",
                        help="threads and processors of every side; more than one number: how we scale")
    parser.add_argument("--runs", type=int, default=11, help="timed runs of every side (default 11)")
    parser.add_argument("--json", help="where the figures go (default: build/bench/peers.json)")
    top, bailey, *rest = sys.argv[1:]
    options = parser.parse_args(rest)
    bench = Bench(top, bailey)
    threads = [int(t) for t in options.threads.split(",")]
    compiler = output_of(bench.nvcc, "--version").splitlines()[-2] if bench.nvcc else "bailey nvcc"
    versions = {"machine": machine(), "bailey": output_of(bailey, "version").splitlines()[0], "cuda": compiler,
                "gcc": output_of("gcc", "--version").splitlines()[0], "clang": output_of(bench.clang, "--version").splitlines()[0],
                "pocl": output_of("dpkg-query", "-W", "-f", "${Package} ${Version}", "pocl-opencl-icd")}
    for key, value in versions.items():
        print(f"{key}: {value}")
    everything, failed = {}, []
    for count in threads:
        print(f"\n{count} threads. Ours: median (least to most); peers: their time over ours, above 1 we are faster; compile: "
              "processor time of bailey-cc; first: what the first run took more, with what else the machine did.")
        print(f"{'kernel':17} {'ours, ms':28}" + " ".join(f"{TITLES[p]:>13}" for p in PEERS) + "  compile    first, ms   speed")
        results = {}
        for name in options.kernels or bench.names():
            error = bench.build(name)
            sides, error = (None, "FAILED: " + error) if error else bench.run(name, options.runs, count)
            if error:
                print(f"{name:17} {error}", flush=True)
                if not error.startswith("skipped"):
                    failed.append(name)
                continue
            sides["compile_ms"] = bench.compile_ms(name)
            results[name] = sides
            print_row(name, sides)
            if any(sides[s]["answer"] != "ok" for s in ["bailey", *PEERS] if s in sides):
                failed.append(name)
        if results:
            print_means(results)
        everything[str(count)] = results
    for count in threads[1:]:
        few, many = everything[str(threads[0])], everything[str(count)]
        print(f"\nTime with {threads[0]} threads over that with {count}:")
        for name in many:
            if name in few:
                cells = " ".join(f"{s} {median(few[name], s) / median(many[name], s):5.2f}"
                                 for s in ["bailey", *PEERS] if s in many[name] and s in few[name])
                print(f"{name:17} {cells}")
    with open(options.json or os.path.join(top, "build", "bench", "peers.json"), "w", encoding="utf-8") as file:
        json.dump({"versions": versions, "threads": everything}, file)
    if failed:
        print("failed: " + ", ".join(failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
