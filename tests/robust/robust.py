#!/usr/bin/env python3
"""Hostile programs, helpers, caches and files: nothing may crash or hang. Built by `bailey nvcc`, run by `bailey run`.

robust.py PREFIX FOLDER SOURCE PART     PREFIX: where Bailey is installed; FOLDER: for what is built; SOURCE: hostile.cu
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

prefix, folder, source, part = sys.argv[1:]
bailey = os.path.join(prefix, "bin/bailey")
folder = os.path.join(folder, part)
cache = os.path.join(folder, "cache")
program = os.path.join(folder, "hostile")
failures = []
HANG = "hangs"


def build():
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    done = subprocess.run([bailey, "nvcc", "-w", "-o", program, source, "-lcuda"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout)
        sys.exit(77 if "clang" in done.stdout and "not found" in done.stdout else 1)


def environment(**more):
    return dict(os.environ, BAILEY_CACHE_DIR=cache, BAILEY_COMPILE_TIMEOUT="2", BAILEY_LOG="off", **more)


def run(mode, binary=program, seconds=8, **more):
    try:
        return subprocess.run([bailey, "run", binary, mode], env=environment(**more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        return HANG


def expect(what, status, *allowed):
    if status not in allowed:
        failures.append(what)
        print(f"{what}: exit status {status}, expected one of {allowed}")


def modes():
    wanted = {"exit-running": 5, "exit-host": 6, "own-handler": 7}
    for mode in ["plain", "exit-running", "exit-host", "wait-host", "fork-before", "fork-after", "no-children", "ignore-children",
                 "own-handler", "threads-end", "storm", "memory", "heap", "limits", "pointers"]:
        expect(mode, run(mode), wanted.get(mode, 0))


def signals():
    for mode in ("spin", "endless"):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = subprocess.Popen([bailey, "run", program, mode], env=environment(), stdout=subprocess.PIPE)
            child.stdout.readline()
            time.sleep(0.05)
            child.send_signal(number)
            try:
                status = child.wait(3)
            except subprocess.TimeoutExpired:
                child.kill()
                status = HANG
            expect(f"{mode} {number.name}", status, -number)


def faults():
    run("plain")
    for kind, last in (("alloc", 60), ("mmap", 10), ("read", 6)):
        for number in range(1, last):
            expect(f"{kind}:{number}", run("tries", BAILEY_TEST_FAULT=f"{kind}:{number}"), 0, 1, 2, 126)
    for kind, last in (("spawn", 3), ("read", 6)):
        for number in range(1, last):
            shutil.rmtree(cache)
            expect(f"{kind}:{number} without a cache", run("tries", BAILEY_TEST_FAULT=f"{kind}:{number}"), 0)


def helper():
    pids = os.path.join(folder, "pids")
    wrapper = os.path.join(folder, "compiler")
    with open(wrapper, "w") as file:
        file.write(f"#!/bin/sh\necho $$ >> {pids}\nexec {prefix}/libexec/bailey/bailey-cc\n")
    os.chmod(wrapper, 0o755)
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV):
        shutil.rmtree(cache, ignore_errors=True)
        open(pids, "w").close()
        child = subprocess.Popen([bailey, "run", program, "tries"], env=environment(BAILEY_CC=wrapper), stderr=subprocess.DEVNULL)
        end = time.time() + 5
        while not os.path.getsize(pids) and time.time() < end:
            time.sleep(0.001)
        os.kill(int(open(pids).read().split()[0]), number)
        try:
            status = child.wait(8)
        except subprocess.TimeoutExpired:
            child.kill()
            status = HANG
        expect(f"helper {number.name}", status, 0)
    for path in ("/bin/true", "/bin/cat", "/nonexistent"):
        shutil.rmtree(cache, ignore_errors=True)
        expect(f"helper {path}", run("plain", BAILEY_CC=path), 2)


def damage(data, start, size):
    data = bytearray(data)
    kind = random.randrange(3)
    if kind == 0:
        data[start + random.randrange(size)] ^= 1 << random.randrange(8)
    elif kind == 1:
        data[start + random.randrange(min(size, 128))] = random.choice([0, 1, 127, 128, 255])
    else:
        at = start + random.randrange(min(size // 4, 40)) * 4
        data[at:at + 4] = random.choice([b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0"])
    return data


def caches():
    children = [subprocess.Popen([bailey, "run", program, "plain"], env=environment()) for _ in range(12)]
    for child in children:
        expect("many at once", child.wait(), 0)
    entry = os.path.join(cache, os.listdir(cache)[0])
    good = open(entry, "rb").read()
    for i in range(30):
        with open(entry, "wb") as file:
            file.write(good[:random.randrange(len(good))] if i % 2 else damage(good, 0, len(good)))
        expect(f"damaged entry {i}", run("plain"), 0)
    os.unlink(entry)
    os.mkdir(entry)
    expect("a folder in an entry's place", run("plain"), 0)
    shutil.rmtree(cache)
    open(cache, "w").close()
    expect("a file in the folder's place", run("plain"), 0)


def fatbins():
    data = open(program, "rb").read()
    start = data.index(b"\x50\xed\x55\xba\x01\x00\x10\x00")
    size = 16 + int.from_bytes(data[start + 8:start + 16], "little")
    mutant = os.path.join(folder, "mutant")
    for i in range(82):
        changed = damage(data, start, size)
        if i < 16: # each byte of the fatbin's and of the entry's sizes
            changed = bytearray(data)
            changed[start + (8 + i if i < 8 else 16 + i)] = 1
        with open(mutant, "wb") as file:
            file.write(changed)
        os.chmod(mutant, 0o755)
        expect(f"damaged fatbin {i}", run("plain", mutant), 0, 1, 2)


random.seed(1)
build()
{"modes": modes, "signals": signals, "faults": faults, "helper": helper, "caches": caches, "fatbins": fatbins}[part]()
sys.exit(1 if failures else 0)
