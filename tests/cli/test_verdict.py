#!/usr/bin/env python3
"""What bailey inspect foretells, bailey run keeps: test_verdict.py BAILEY AUDIT COMPILER SOURCE_ROOT LIBCUDA BAILEY_CC NAME=FILE…"""
import json
import os
import shutil
import unittest

import tree

LIBCUDA, HELPER = tree.REST[:2]
FILES = dict(word.split("=", 1) for word in tree.REST[2:])
PROGRAMS = ("default", "none", "speed", "balance", "size", "several", "rdc", "debug", "lineinfo", "shared", "nocode")


class Verdicts(tree.Tree):
    def setUp(self):
        super().setUp()
        shutil.copy(LIBCUDA, os.path.join(self.libraries, "libcuda.so.1"))
        runtimes = os.path.join(os.path.dirname(LIBCUDA), "../runtime")
        shutil.copy(os.path.join(runtimes, "13/libcudart.so.13"), self.libraries)
        os.makedirs(os.path.join(self.root, "libexec/bailey"))
        shutil.copy(HELPER, os.path.join(self.root, "libexec/bailey/bailey-cc"))
        self.more = {"env": {"BAILEY_CACHE_DIR": self.path("cache")}}

    @unittest.skipUnless(FILES, "no nvcc here")
    def test_programs(self):
        for name in PROGRAMS:
            found = json.loads(self.run_bailey("inspect", "--json", FILES[name]).stdout)["files"][0]
            ran = self.run_bailey("run", FILES[name], **self.more)
            if found["verdict"] == "runs":
                self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "256 cudaSuccess\n", ""), name)
            else:
                self.assertEqual((ran.returncode, ran.stdout), (1, "64 cudaErrorNoKernelImageForDevice\n"), name)
                self.assertIn("machine code: sm_80", ran.stderr)

    @unittest.skipUnless(FILES, "no nvcc here")
    def test_trace_and_log(self):
        ran = self.run_bailey("run", "--trace", FILES["default"], **self.more)
        self.assertEqual(ran.stdout, "256 cudaSuccess\n")
        self.assertRegex(ran.stderr, r"cuInit\(.*\) = 0")
        self.assertRegex(ran.stderr, r"cuLaunchKernel\w*\(.*\) = 0")

    def test_doctor(self):
        self.assertEqual(self.run_bailey("doctor").returncode, 0)


if __name__ == "__main__":
    tree.main()
