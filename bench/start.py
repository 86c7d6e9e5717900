"""Times whole processes: vector_add cold (no cached kernel), warm, and without CUDA. start.py BAILEY FOLDER; called by bench/run."""
import os
import shutil
import statistics
import subprocess
import sys
import time

bailey, folder = sys.argv[1:]
program, plain = os.path.join(folder, "vector_add"), os.path.join(folder, "no_cuda")


def timed(command, env=None):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=env)
    return (time.perf_counter() - start) * 1e3


def report(name, values):
    print(f"  {name:44} {statistics.median(values):10.3f}   ({min(values):.3f} to {max(values):.3f}) ms")


cold, warm, without = [], [], []
for _ in range(7):
    shutil.rmtree(os.environ["BAILEY_CACHE_DIR"], ignore_errors=True)
    cold.append(timed([bailey, "run", program]))
for _ in range(21):
    warm.append(timed([bailey, "run", program]))
    without.append(timed([plain]))
report("vector_add, first run (under 400)", cold)
report("vector_add, warm", warm)
report("the same without CUDA", without)
report("  warm adds (under 15)", [w - p for w, p in zip(warm, without)])
# Warm runs neither start the helper nor map LLVM: they pass with no helper to start.
timed([bailey, "run", program], dict(os.environ, BAILEY_CC="/nonexistent"))
traced = subprocess.run(["strace", "-f", "-e", "trace=openat,execve", bailey, "run", program], stderr=subprocess.PIPE,
                        stdout=subprocess.DEVNULL, text=True) if shutil.which("strace") else None
if traced:
    print("  LLVM opened by a warm run:", "yes" if "libLLVM" in traced.stderr else "no")
else:
    print("  a warm run with no compiler to start: passes")
