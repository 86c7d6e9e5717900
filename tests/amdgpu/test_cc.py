#!/usr/bin/env python3
"""bailey cc: what code objects say of themselves, and what is refused. test_cc.py BAILEY BAILEY_CC CHIP.C"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import code_object

BAILEY, HELPER, CHIPS = map(os.path.abspath, sys.argv[1:4])
HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.path.join(HERE, "kernels.ptx")

# kernel: (offsets and sizes of its parameters, static LDS, largest workgroup)
EXPECTED = {
    "vector_add": ([(0, 8), (8, 8), (16, 8), (24, 4)], 0, 1024),
    "block_sum": ([(0, 8), (8, 8)], 1024, 1024),
    "reverse": ([(0, 8)], 16, 1024),
    "struct_by_value": ([(0, 20), (20, 1), (24, 8)], 0, 1024),
    "shuffle": ([(0, 8)], 0, 1024),
    "votes": ([(0, 8)], 0, 1024),
    "atomics": ([(0, 8)], 0, 1024),
    "variables": ([(0, 8)], 0, 1024),
    "local_array": ([(0, 8)], 0, 1024),
    "indirect_call": ([(0, 8)], 0, 1024),
    "recursion": ([(0, 8)], 0, 1024),
    "collatz": ([(0, 8)], 0, 64),
    "mixed": ([(0, 8), (8, 8)], 16, 96),
}


class Cc(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bailey cc ")
        self.addCleanup(shutil.rmtree, self.folder)
        for folder, program in (("bin", BAILEY), ("libexec/bailey", HELPER)):
            os.makedirs(os.path.join(self.folder, folder))
            os.symlink(program, os.path.join(self.folder, folder, os.path.basename(program)))
        # found by /proc/self/exe: a copy, for a link would lead to where it was built
        self.bailey = os.path.join(self.folder, "bin/bailey")
        os.unlink(self.bailey)
        shutil.copy(BAILEY, self.bailey)

    def cc(self, *arguments):
        return subprocess.run([self.bailey, "cc", *arguments], capture_output=True, text=True, timeout=120, cwd=self.folder)

    def refused(self, text, *arguments):
        path = os.path.join(self.folder, "bad.ptx")
        with open(path, "w") as file:
            file.write(".version 8.0\n.target sm_80\n.address_size 64\n" + text)
        got = self.cc("--target", "gfx1100", path, *arguments)
        self.assertEqual(got.returncode, 1, got.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "bad.hsaco")))
        return got.stderr

    def test_metadata(self):
        for chip, wave in (("gfx1100", 32), ("gfx1201", 32), ("gfx942", 64), ("gfx900", 64)):
            out = os.path.join(self.folder, chip + ".hsaco")
            got = self.cc("--target", chip, KERNELS, "-o", out)
            self.assertEqual((got.returncode, got.stderr), (0, ""))
            with open(out, "rb") as file:
                elf = file.read()
            meta = code_object.read(elf)
            self.assertEqual(meta["amdhsa.version"], [1, 2])
            self.assertTrue(meta["amdhsa.target"].startswith(f"amdgcn-amd-amdhsa--{chip}"), meta["amdhsa.target"])
            kernels = {k[".name"]: k for k in meta["amdhsa.kernels"]}
            self.assertEqual(set(kernels), set(EXPECTED))
            names = code_object.symbols(elf)
            for name, (parameters, shared, threads) in EXPECTED.items():
                with self.subTest(chip=chip, kernel=name):
                    kernel = kernels[name]
                    explicit = [a for a in kernel[".args"] if not a[".value_kind"].startswith("hidden")]
                    self.assertEqual([(a[".offset"], a[".size"]) for a in explicit], parameters)
                    self.assertEqual(kernel[".group_segment_fixed_size"], shared)
                    self.assertEqual(kernel[".max_flat_workgroup_size"], threads)
                    self.assertEqual(kernel[".wavefront_size"], wave)
                    end = max(a + b for a, b in parameters)
                    self.assertGreaterEqual(kernel[".kernarg_segment_size"], end)
                    self.assertIn(name, names)
                    self.assertIn(name + ".kd", names)
            for name in ("counter", "factors", "where_counter"):
                self.assertIn(name, names)
            self.assertEqual(kernels["mixed"].get(".reqd_workgroup_size"), [96, 1, 1])
            self.assertTrue(kernels["recursion"][".uses_dynamic_stack"])
            self.assertEqual(kernels["vector_add"][".private_segment_fixed_size"], 0)

    def test_matrices(self):
        for chip in "gfx1100", "gfx90a":
            got = self.cc("--target", chip, os.path.join(HERE, "matrix.ptx"), "-o", "matrix.hsaco")
            self.assertEqual((got.returncode, got.stderr), (0, ""))
        said = self.refused(".visible .entry k() { .reg .b32 %r<9>; .reg .f32 %f<4>;\n mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
                            " {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3}; st.global.f32 [%r1], %f0; ret; }"
                            .replace("[%r1]", "[0]"))
        self.assertRegex(said, "k: line 5: matrix: .*floats")

    def test_one_kernel(self):
        got = self.cc("--target=gfx1030", "--kernel=votes", KERNELS, "-o", "one.hsaco")
        self.assertEqual((got.returncode, got.stderr), (0, ""))
        with open(os.path.join(self.folder, "one.hsaco"), "rb") as file:
            self.assertEqual([k[".name"] for k in code_object.read(file.read())["amdhsa.kernels"]], ["votes"])
        got = self.cc("--target=gfx1030", "--kernel=nobody", KERNELS, "-o", "none.hsaco")
        self.assertEqual(got.returncode, 1)
        self.assertIn("no kernel named nobody", got.stderr)

    def test_assembly(self):
        got = self.cc("--target", "gfx1100", "--kernel", "block_sum", "-S", KERNELS, "-o", "block_sum.s")
        self.assertEqual((got.returncode, got.stderr), (0, ""))
        with open(os.path.join(self.folder, "block_sum.s")) as file:
            text = file.read()
        for word in ("s_barrier", "ds_load_b32", "global_load_b32", "block_sum:", "s_endpgm"):
            self.assertIn(word, text)

    def test_fast_math(self):
        """The chip's own functions; and where every f32 op is ftz, its mode in place of code."""
        body = (".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{ .reg .u64 %a; .reg .f32 %f<3>; ld.param.u64 %a, [p];"
                " ld.global.f32 %f0, [%a]; fma.rn.ftz.f32 %f1, %f0, %f0, %f0; {} %f2, %f1; st.global.f32 [%a], %f2; ret; }}")
        for op, mode, fast in (("rcp.approx.ftz.f32", 0, True), ("rcp.approx.f32", 3, True), ("rcp.approx.ftz.f32", 3, False)):
            with open(os.path.join(self.folder, "k.ptx"), "w") as file:
                file.write(body.format(op))
            got = self.cc("--target", "gfx1100", "-S", "k.ptx", *(["--fast-math"] if fast else []))
            self.assertEqual((got.returncode, got.stderr), (0, ""))
            with open(os.path.join(self.folder, "k.s")) as file:
                text = file.read()
            self.assertRegex(text, rf"amdhsa_float_denorm_mode_32 {mode}\b")
            self.assertEqual("v_rcp_f32" in text, fast)

    def test_every_chip(self):
        with open(CHIPS) as file:
            known = re.findall(r'\("(gfx[\w-]+)", 0x', file.read())
        self.assertGreater(len(known), 20)
        listed = self.cc("--targets")
        self.assertEqual([line.split()[0] for line in listed.stdout.splitlines()], known)
        got = self.cc("--all", "--kernel", "votes", KERNELS, "-o", "all")
        self.assertEqual((got.returncode, got.stderr), (0, ""))
        for chip in known:
            with open(os.path.join(self.folder, f"all.{chip}.hsaco"), "rb") as file:
                self.assertIn(chip, code_object.read(file.read())["amdhsa.target"])

    def test_what_is_refused(self):
        said = self.refused(".visible .entry k() { .reg .u64 %a;\n mov.u64 %a, %gridid; st.global.u64 [%a], %a; ret; }")
        self.assertRegex(said, r"k: line 5: .*%gridid")
        part = os.path.join(HERE, "part_barriers.ptx")
        got = self.cc("--target", "gfx90a", part, "-o", "part.hsaco")
        self.assertEqual(got.returncode, 1)
        self.assertRegex(got.stderr, r"part_barriers: line \d+: barrier: .*64 lanes")
        self.assertEqual(self.cc("--target", "gfx1100", part, "-o", "part.hsaco").returncode, 0)
        said = self.refused(".visible .entry k() { .shared .b8 a[70000]; .reg .u32 %r; mov.u32 %r, a; st.shared.u32 [%r], %r; ret; }")
        self.assertRegex(said, "65536 bytes of LDS")
        said = self.refused(".visible .entry k() { nonsense; ret; }")
        self.assertIn("nonsense", said)
        said = self.refused(".extern .global .u32 elsewhere;\n.visible .entry k() { .reg .u32 %r; ld.global.u32 %r, [elsewhere];"
                            " st.global.u32 [elsewhere], %r; ret; }")
        self.assertIn("elsewhere", said)

    def test_usage(self):
        for arguments in ([], [KERNELS], ["--target", "gfx1", KERNELS], ["--target", "gfx1100"], ["--all", "--target=gfx1100", KERNELS],
                          ["--frob", KERNELS], ["--all", KERNELS, KERNELS], ["--all", KERNELS, "-o"]):
            got = self.cc(*arguments)
            self.assertEqual(got.returncode, 2, arguments)
            self.assertIn("See: bailey help cc", got.stderr)
        self.assertEqual(self.cc("--target", "gfx1100", "not there.ptx").returncode, 127)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
