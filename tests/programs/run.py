#!/usr/bin/env python3
"""Compiles a test program and runs it under `bailey run`. Exit status: the program's; 77 where the compiler is missing or can't.

run.py PREFIX FOLDER COMPILER SOURCE...     PREFIX: where Bailey is installed; FOLDER: for what is built, kept between runs;
COMPILER: path of NVIDIA's nvcc, "shared:" before it for a program that finds its runtime when it starts, which is ours; or "bailey".
"""
import os
import subprocess
import sys


def newest(paths):
    return max(os.path.getmtime(path) for path in paths)


def architecture(source):
    """Of a program that says `// arch: 90` in its first line; else the oldest that nvcc 13 makes. -arch knows no 90a."""
    with open(source) as text:
        first = text.readline()
    name = "compute_" + (first.split("arch:")[1].strip() if "arch:" in first else "75")
    return "-arch=" + name if name[-1].isdigit() else "-gencode=arch=%s,code=%s" % (name, name)


def compile_program(prefix, folder, compiler, sources):
    own = compiler == "bailey"
    shared = compiler.startswith("shared:")
    compiler = compiler.removeprefix("shared:")
    command = [os.path.join(prefix, "bin/bailey"), "nvcc"] if own else [compiler]
    name = os.path.basename(sources[0])[:-3] if len(sources) == 1 else os.path.basename(os.path.dirname(sources[0]))
    program = os.path.join(folder, name + ("-bailey" if own else "-shared" if shared else "-nvcc"))
    os.makedirs(folder, exist_ok=True)
    beside = [os.path.join(os.path.dirname(sources[0]), "..", "check.h"), os.path.join(os.path.dirname(sources[0]), "check.h")]
    if os.path.exists(program) and os.path.getmtime(program) > newest(sources + [b for b in beside if os.path.exists(b)]) and not own:
        return program
    made = "%s.%d" % (program, os.getpid())  # tests of one program run side by side
    command += ["-w", "-std=c++17", architecture(sources[0]), "-lcuda", "-o", made] + (["-rdc=true"] if len(sources) > 1 else []) + (["-cudart", "shared"] if shared else [])
    done = subprocess.run(command + sources, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print(done.stdout)
        sys.exit(1)
    os.replace(made, program)
    return program


def main():
    prefix, folder, compiler, *sources = sys.argv[1:]
    if compiler in ("none", "shared:none"):
        print("no nvcc on this machine")
        sys.exit(77)
    program = compile_program(prefix, folder, compiler, sources)
    done = subprocess.run([os.path.join(prefix, "bin/bailey"), "run", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    sys.stdout.write(done.stdout.decode(errors="replace")[-4000:])
    print("exit status", done.returncode)
    sys.exit(0 if done.returncode == 0 else 1)


main()
