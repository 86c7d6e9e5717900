#!/usr/bin/env python3
"""Which kernels compile for which AMD chips, and why not.

    table.py BAILEY_CC NVCC [--chips LIST] [--folder DIR] [FILE.cu|FILE.ptx …]

Without files: tests/programs, bench and examples, and the PTX of tests/amdgpu. PTX is made by NVCC (77 where it isn't there) and kept
in DIR if given. Prints a line for each kernel that some chip refuses, with the reasons, and the sums. Exits with 0 whatever is refused:
this is a survey, not a test."""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def make_ptx(nvcc, source, folder):
    """The path, or None where nvcc refuses it."""
    if source.endswith(".ptx"):
        return source
    path = os.path.join(folder, os.path.basename(source)[:-3] + ".ptx")
    for target in ("compute_80", "compute_90"):
        if os.path.exists(path):
            break
        made = subprocess.run([nvcc, "-ptx", "-arch=" + target, "-std=c++17", "--expt-relaxed-constexpr", "--extended-lambda", "-o", path,
                               source], capture_output=True, text=True)
    if not os.path.exists(path):
        print(f"{source}: nvcc: {made.stderr.splitlines()[0] if made.stderr else made.returncode}")
        return None
    return path


def compile_one(cc, path, chip, *more):
    """None, or the reason."""
    try:
        made = subprocess.run([cc, path, "--target", chip, "-o", "/dev/null", *more], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "no end in 120 s"
    if made.returncode == 0:
        return None
    lines = made.stderr.strip().splitlines()
    return lines[0] if lines and made.returncode > 0 else f"status {made.returncode}: {lines[0] if lines else ''}"


def survey(cc, path, chip):
    """{kernel: None or the reason}"""
    with open(path, errors="replace") as file:
        kernels = re.findall(r"^\s*(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+)", file.read(), re.M)
    if not kernels or compile_one(cc, path, chip) is None:
        return dict.fromkeys(kernels)
    return {kernel: compile_one(cc, path, chip, "--kernel", kernel) for kernel in kernels}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cc")
    parser.add_argument("nvcc")
    parser.add_argument("--chips")
    parser.add_argument("--folder")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if not os.path.exists(options.nvcc):
        print("skipped: no nvcc")
        raise SystemExit(77)
    with open(os.path.join(ROOT, "src/target/amdgpu/chip.c")) as file:
        chips = options.chips.split(",") if options.chips else re.findall(r'\("(gfx[\w-]+)", 0x', file.read())
    files = options.files or sorted(f for d in ("tests/programs/*.cu", "bench/*.cu", "examples/*.cu", "tests/amdgpu/*.ptx")
                                    for f in glob.glob(os.path.join(ROOT, d)))
    reasons = collections.defaultdict(lambda: collections.defaultdict(list))
    cells = yes = kernels = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = [p for p in pool.map(lambda f: make_ptx(options.nvcc, f, options.folder or folder), files) if p]
        jobs = [(path, chip) for path in paths for chip in chips]
        for (path, chip), answer in zip(jobs, pool.map(lambda j: survey(options.cc, *j), jobs)):
            kernels += len(answer) if chip == chips[0] else 0
            for kernel, reason in answer.items():
                cells += 1
                yes += reason is None
                if reason:
                    reasons[f"{os.path.basename(path)[:-4]} {kernel}"][reason].append(chip)
    for kernel, why in reasons.items():
        for reason, where in why.items():
            print(f"{kernel}: {'all chips' if len(where) == len(chips) else ' '.join(where)}: {reason[:200]}")
    print(f"{kernels} kernels, {len(chips)} chips: {yes} of {cells} cells are yes ({100 * yes / max(cells, 1):.1f}%)")


if __name__ == "__main__":
    main()
