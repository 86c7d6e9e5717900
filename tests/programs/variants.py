#!/usr/bin/env python3
"""examples/vector_add.cu built by NVIDIA's nvcc in every way that changes what is in the file, each run under `bailey run` and with
LD_PRELOAD alone. Exit status 77 where there is no nvcc.

variants.py PREFIX FOLDER NVCC SOURCE
"""
import os
import subprocess
import sys

GENCODES = ["-gencode", "arch=compute_75,code=sm_75", "-gencode", "arch=compute_80,code=sm_80", "-gencode",
            "arch=compute_90,code=[sm_90,compute_90]"]
WAYS = {
    "default": [],
    "cudart-shared": ["-cudart", "shared"],
    "gencode": GENCODES,
    "compress-none": ["--compress-mode=none"],
    "compress-speed": ["--compress-mode=speed"],
    "compress-balance": ["--compress-mode=balance"],
    "compress-size": ["--compress-mode=size"],
    "compress-default": ["--compress-mode=default"],
    "no-compress": ["--no-compress"],
    "G": ["-G"],
    "lineinfo": ["-lineinfo"],
    "rdc": ["-rdc=true"],
    "per-thread": ["-default-stream", "per-thread"],
    "ptx-only": ["-arch=compute_80"],
}
LINES = ["[CUDA] Vector addition of 50000 elements.", "[CUDA] Launching kernel with 196 blocks of 256 threads.", "[CUDA] Test PASSED"]


def check(name, how, command, env):
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    right = done.returncode == 0 and [line for line in done.stdout.splitlines() if line.startswith("[CUDA]")] == LINES
    if not right:
        print(f"{name}, {how}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return right


def main():
    prefix, folder, nvcc, source = sys.argv[1:]
    if nvcc == "none":
        print("no nvcc on this machine")
        sys.exit(77)
    os.makedirs(folder, exist_ok=True)
    library = os.path.join(prefix, "lib/bailey")
    failed = 0
    for name, options in WAYS.items():
        program = os.path.join(folder, "vector_add-" + name)
        if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
            subprocess.run([nvcc, "-w"] + options + [source, "-o", program], check=True)
        plain = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
        failed += not check(name, "bailey run", [os.path.join(prefix, "bin/bailey"), "run", program], plain)
        preload = library + "/libcuda.so.1"
        if name == "cudart-shared":
            preload += ":" + library + "/libcudart.so.13"
        failed += not check(name, "LD_PRELOAD", [program], dict(plain, LD_PRELOAD=preload))
        failed += not check(name, "LD_LIBRARY_PATH", [program], dict(plain, LD_LIBRARY_PATH=library))
    print(f"{len(WAYS)} builds, {failed} failures")
    sys.exit(1 if failed else 0)


main()
