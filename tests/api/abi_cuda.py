#!/usr/bin/env python3
"""Compares our cuda.h with NVIDIA's, where that is installed: macros, enum values, record layouts, signatures.

Usage: abi_cuda.py OUR_INCLUDE_DIR [NVIDIA_INCLUDE_DIR]   (exit 77: nothing to compare with)
The two headers can't be in one translation unit, so each is asked by the compiler on its own and the answers are compared.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

MODES = {"plain": [], "per-thread": ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"], "internal": ["-D__CUDA_API_VERSION_INTERNAL"]}
OURS_ONLY = {"BL_CU_ALIGNED_128"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def macros(directory, flags):
    text = run("gcc", "-E", "-dM", "-I", directory, *flags, "-include", "cuda.h", "-x", "c", "/dev/null")
    found = dict(re.findall(r"^#define ((?:CU|cu|RESOURCE_ABI)\w*)(?:\([^)]*\))? ?(.*)$", text, re.M))
    return {name: re.sub(r"\s+", "", body) for name, body in found.items() if name not in OURS_ONLY}


def enumerators(directory, flags):
    text = run("gcc", "-E", "-P", "-I", directory, *flags, "-D__CUDA_API_VERSION_INTERNAL_ODR", "-include", "cuda.h", "-x", "c",
               "/dev/null")
    names = []
    for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", text):
        names += [m for m in re.findall(r"(?:^|,)\s*(\w+)", body) if m.startswith(("CU", "NVCL", "GPU"))]
    return names


def values(directory, flags, names):
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "v.c"), os.path.join(folder, "v")
        with open(source, "w") as out:
            out.write("#include <cuda.h>\n#include <stdio.h>\nint main(void) {\n")
            for name in names:
                out.write(f'printf("{name} %lld\\n", (long long){name});\n')
            out.write("return 0; }\n")
        run("gcc", "-I", directory, *flags, "-o", program, source)
        return dict(line.split() for line in run(program).splitlines())


def layouts(directory, flags, clang):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write("#include <cuda.h>\n")
        source.flush()
        text = run(clang, "-fsyntax-only", "-I", directory, *flags, "-Xclang", "-fdump-record-layouts-complete", source.name)
    records = {}
    for block in text.split("*** Dumping AST Record Layout")[1:]:
        block = re.sub(r" at [^ )]*:\d+:\d+", "", block)
        block = re.sub(r"/[^ ]*\.h:\d+:\d+", "", block)
        lines = [line for line in block.splitlines() if "|" in line]
        name = lines[0].split("|", 1)[1].strip()
        records.setdefault(name, []).append("\n".join(lines))
    return {name: sorted(blocks) for name, blocks in records.items()
            if re.search(r"CU|cuda", name) or "unnamed" in name or "anonymous" in name}


def signatures(directory, flags):
    with tempfile.TemporaryDirectory() as folder:
        source, info = os.path.join(folder, "s.c"), os.path.join(folder, "info")
        with open(source, "w") as out:
            out.write("#include <cuda.h>\n")
        run("gcc", "-fsyntax-only", "-I", directory, *flags, "-aux-info", info, source)
        with open(info) as text:
            found = re.findall(r"^/\*.*?\*/ extern (CUresult (cu\w+) .*);", text.read(), re.M)
    return {name: signature for signature, name in found}


def compare(what, ours, theirs):
    bad = 0
    for name in sorted(set(ours) | set(theirs)):
        if ours.get(name) != theirs.get(name):
            print(f"{what}: {name}:\n  ours   {ours.get(name)}\n  theirs {theirs.get(name)}")
            bad += 1
    print(f"{what}: {len(theirs)} compared, {bad} differ")
    return bad


def main():
    ours = sys.argv[1]
    theirs = sys.argv[2] if len(sys.argv) > 2 else "/usr/local/cuda/include"
    if not os.path.exists(os.path.join(theirs, "cuda.h")) or not shutil.which("gcc"):
        print("no NVIDIA header to compare with")
        return 77
    clang = next((c for c in ("clang-22", "clang-19", "clang") if shutil.which(c)), None)
    bad = 0
    for mode, flags in MODES.items():
        bad += compare(f"{mode} macros", macros(ours, flags), macros(theirs, flags))
        names = enumerators(ours, flags)
        bad += compare(f"{mode} enumerators", dict.fromkeys(names), dict.fromkeys(enumerators(theirs, flags)))
        bad += compare(f"{mode} values", values(ours, flags, names), values(theirs, flags, names))
        bad += compare(f"{mode} signatures", signatures(ours, flags), signatures(theirs, flags))
        if clang:
            bad += compare(f"{mode} layouts", layouts(ours, flags, clang), layouts(theirs, flags, clang))
    return 1 if bad else 0


sys.exit(main())
