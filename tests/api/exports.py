#!/usr/bin/env python3
"""Compares what a library of ours exports, symbol versions included, with NVIDIA's where that is installed.

Usage: exports.py OUR_LIBRARY NVIDIA_LIBRARY...   the first that exists counts (exit 77: none does). A name missing is a program
that does not start; one too many is a name that nobody should come to rely on.
"""
import os
import shutil
import subprocess
import sys


def exports(path):
    text = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in text.splitlines()]
    return {name.replace("@@", "@") for name in names if not (name.startswith("lib") and "@" not in name)}


def main():
    theirs = next((path for path in sys.argv[2:] if os.path.exists(path)), None)
    if not theirs or not shutil.which("nm"):
        print("no library of NVIDIA's to compare with")
        sys.exit(77)
    ours, theirs = exports(sys.argv[1]), exports(theirs)
    for name in sorted(theirs - ours):
        print("missing:", name)
    for name in sorted(ours - theirs):
        print("too many:", name)
    print(f"{len(theirs)} exports compared")
    sys.exit(1 if ours != theirs else 0)


main()
