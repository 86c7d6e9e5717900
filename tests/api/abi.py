#!/usr/bin/env python3
"""Compares a header of ours with NVIDIA's, where that is installed: macros, enum values, record layouts, signatures.

Usage: abi.py HEADER OUR_INCLUDE_DIR [NVIDIA_INCLUDE_DIR]   (exit 77: nothing to compare with); HEADER: cuda.h or cuda_runtime_api.h
The two headers can't be in one translation unit, so each is asked by the compiler on its own and the answers are compared.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PER_THREAD = ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"]
VECTORS = r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4](?:_\d+a)?|dim3"


class Api:
    """Which of a header's names count."""

    def __init__(self, modes, macros, enumerators, records, function):
        self.modes, self.macros, self.enumerators, self.records, self.function = modes, macros, enumerators, records, function


APIS = {
    "cuda.h": Api({"plain": [], "per-thread": PER_THREAD, "internal": ["-D__CUDA_API_VERSION_INTERNAL"]}, r"(?:CU|cu|RESOURCE_ABI)\w*",
                  ("CU", "NVCL", "GPU"), r"CU|cuda", r"CUresult (cu\w+)"),
    "cuda_runtime_api.h": Api({"plain": [], "per-thread": PER_THREAD}, r"(?:cuda[A-Z]\w*|CUDART_VERSION)", ("cuda",),
                              r"cuda|CU|" + VECTORS, r"(?:cudaError_t|enum cudaError|const char \*) ?\(?(cuda\w+)\)?"),
}
API = APIS[sys.argv[1]]
HEADER = sys.argv[1]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def plain_body(body):
    """Without blanks, and with NVIDIA's own helper macros of the runtime written out."""
    return re.sub(r"__CUDART_API_(PTSZ|PTDS)\((\w+)\)", lambda m: m[2] + "_" + m[1].lower(), re.sub(r"\s+", "", body))


def macros(directory, flags):
    text = run("gcc", "-E", "-dM", "-I", directory, *flags, "-include", HEADER, "-x", "c", "/dev/null")
    found = dict(re.findall(r"^#define (" + API.macros + r")(?:\([^)]*\))? ?(.*)$", text, re.M))
    return {name: plain_body(body) for name, body in found.items() if not name.startswith("BL_")}


def enumerators(directory, flags):
    text = run("gcc", "-E", "-P", "-I", directory, *flags, "-D__CUDA_API_VERSION_INTERNAL_ODR", "-include", HEADER, "-x", "c",
               "/dev/null")
    names = []
    for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", text):
        names += [m for m in re.findall(r"(?:^|,)\s*(\w+)", body) if m.startswith(API.enumerators)]
    return names


def values(directory, flags, names):
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "v.c"), os.path.join(folder, "v")
        with open(source, "w") as out:
            out.write(f"#include <{HEADER}>\n#include <stdio.h>\nint main(void) {{\n")
            for name in names:
                out.write(f'printf("{name} %lld\\n", (long long){name});\n')
            out.write("return 0; }\n")
        run("gcc", "-I", directory, *flags, "-o", program, source)
        return dict(line.split() for line in run(program).splitlines())


def layouts(directory, flags, clang):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write(f"#include <{HEADER}>\n")
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
            if re.search(API.records, name) or "unnamed" in name or "anonymous" in name}


def signatures(directory, flags):
    with tempfile.TemporaryDirectory() as folder:
        source, info = os.path.join(folder, "s.c"), os.path.join(folder, "info")
        with open(source, "w") as out:
            out.write(f"#include <{HEADER}>\n")
        run("gcc", "-fsyntax-only", "-I", directory, *flags, "-aux-info", info, source)
        with open(info) as text:
            found = re.findall(r"^/\*.*?\*/ extern (" + API.function + r" .*);", text.read(), re.M)
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
    ours = sys.argv[2]
    theirs = sys.argv[3] if len(sys.argv) > 3 else "/usr/local/cuda/include"
    if not os.path.exists(os.path.join(theirs, HEADER)) or not shutil.which("gcc"):
        print("no NVIDIA header to compare with")
        return 77
    clang = next((c for c in ("clang-22", "clang-19", "clang") if shutil.which(c)), None)
    bad = 0
    for mode, flags in API.modes.items():
        bad += compare(f"{mode} macros", macros(ours, flags), macros(theirs, flags))
        names = enumerators(ours, flags)
        bad += compare(f"{mode} enumerators", dict.fromkeys(names), dict.fromkeys(enumerators(theirs, flags)))
        bad += compare(f"{mode} values", values(ours, flags, names), values(theirs, flags, names))
        bad += compare(f"{mode} signatures", signatures(ours, flags), signatures(theirs, flags))
        if clang:
            bad += compare(f"{mode} layouts", layouts(ours, flags, clang), layouts(theirs, flags, clang))
    return 1 if bad else 0


sys.exit(main())
