#!/usr/bin/env python3
"""Builds a program that prints one line a call, runs it under `bailey run`, compares with what a real GPU printed.

compare.py PREFIX FOLDER COMPILER SOURCE    PREFIX: where Bailey is installed; FOLDER: for what is built; COMPILER: path of
NVIDIA's nvcc, or "bailey". SOURCE says in its first line, `// arch: 90`, where it needs more than the oldest that nvcc 13 makes.
Beside it lie golden/NAME.h200.txt (what an H200 answered) and golden/NAME.todo: known differences, three lines each and an empty
one: what the H200 prints, what we print, why. A line may occur more than once: `@N ` before the first line names its N-th
occurrence. One that no longer differs is a failure: take it out. Exit status 77 where there is nothing to compare with.
"""
import os
import subprocess
import sys


def read_todo(path):
    if not os.path.exists(path):
        return []
    with open(path) as text:
        blocks = [block.splitlines() for block in text.read().split("\n\n") if block.strip()]
    for block in blocks:
        if len(block) != 3:
            sys.exit(f"{path}: a difference has three lines: {block}")
    return blocks


def number(lines):
    """Each line with the number of its occurrence."""
    seen = {}
    for line in lines:
        seen[line] = seen.get(line, 0) + 1
        yield line, seen[line]


def architecture(source):
    with open(source) as text:
        first = text.readline()
    return "compute_" + (first.split("arch:")[1].strip() if "arch:" in first else "75")


def build(prefix, folder, compiler, source):
    own = compiler == "bailey"
    name = os.path.basename(source)[:-3]
    program = os.path.join(folder, name + ("-own" if own else "-nvcc"))
    os.makedirs(folder, exist_ok=True)
    command = [os.path.join(prefix, "bin/bailey"), "nvcc"] if own else [compiler]
    done = subprocess.run(command + ["-w", "-std=c++17", "-arch=" + architecture(source), "-o", program, source, "-lcuda"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(done.stdout)
    return program


def compare(expected, got, todo):
    """Prints what differs; how many lines do so without being known, and known ones that don't."""
    known = {}
    for want, ours, _ in todo:
        nth, _, line = want.partition(" ") if want.startswith("@") else ("@0", "", want)
        known[line, int(nth[1:])] = ours
    bad, used = 0, set()
    if len(expected) != len(got):
        print(f"{len(expected)} lines expected, {len(got)} printed")
        bad += 1
    section = ""
    for (want, nth), ours in zip(number(expected), got):
        section = want if want.startswith("==") else section
        key = (want, nth) if (want, nth) in known else (want, 0)
        if want == ours:
            continue
        if known.get(key) == ours:
            used.add(key)
            continue
        print(f"{section}\n- {want}\n+ {ours}")
        bad += 1
    for key in known.keys() - used:
        print(f"known difference is gone: {key[0]}")
        bad += 1
    print(f"{len(expected)} lines, {bad} faults, {len(used)} known differences")
    return bad


def main():
    prefix, folder, compiler, source = sys.argv[1:]
    golden = os.path.join(os.path.dirname(source), "golden", os.path.basename(source)[:-3])
    if compiler == "none" or not os.path.exists(golden + ".h200.txt"):
        print("no nvcc on this machine" if compiler == "none" else "nothing recorded")
        sys.exit(77)
    program = build(prefix, folder, compiler, source)
    done = subprocess.run([os.path.join(prefix, "bin/bailey"), "run", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with open(golden + ".h200.txt") as text:
        expected = text.read().splitlines()
    bad = compare(expected, done.stdout.decode(errors="replace").splitlines(), read_todo(golden + ".todo"))
    if done.returncode != 0:
        print("exit status", done.returncode)
    sys.exit(1 if bad or done.returncode != 0 else 0)


main()
