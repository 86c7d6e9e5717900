#!/usr/bin/env python3
"""What NVML's clients see of a program that runs: nvml.py PREFIX. The library is asked through ctypes, as pynvml does."""
import ctypes
import os
import signal
import subprocess
import sys
import time
import unittest

PREFIX = sys.argv.pop(1)
LIBRARY = os.path.join(PREFIX, "lib/bailey")
MIB = 1 << 20
SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NOT_FOUND, INSUFFICIENT_SIZE = 0, 1, 2, 3, 6, 7

# A program that opens the driver, allocates 48 MiB, says so, and waits.
PROGRAM = """
import ctypes, sys, time
cuda = ctypes.CDLL(sys.argv[1])
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(48 << 20)) == 0
print("ready", flush=True)
while True:
    if len(sys.argv) > 2:
        cuda.cuMemsetD8_v2(address, ctypes.c_ubyte(1), ctypes.c_size_t(48 << 20))
        cuda.cuCtxSynchronize()
    else:
        time.sleep(1)
"""


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong), ("instances", ctypes.c_uint * 2)]


class Nvml(unittest.TestCase):
    def setUp(self):
        self.nvml = ctypes.CDLL(os.path.join(LIBRARY, "libnvidia-ml.so.1"))
        self.nvml.nvmlErrorString.restype = ctypes.c_char_p
        self.assertEqual(self.nvml.nvmlInit_v2(), SUCCESS)
        self.device = ctypes.c_void_p()
        self.assertEqual(self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device)), SUCCESS)
        self.running = []

    def tearDown(self):
        for process in self.running:
            process.kill()
            process.wait()
            process.stdout.close()
        self.nvml.nvmlShutdown()

    def start(self, *more):
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, os.path.join(LIBRARY, "libcuda.so.1"), *more],
                                   stdout=subprocess.PIPE, text=True)
        self.running.append(process)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def processes(self):
        count, found = ctypes.c_uint(256), (Process * 256)()
        self.assertEqual(self.nvml.nvmlDeviceGetComputeRunningProcesses_v3(self.device, ctypes.byref(count), found), SUCCESS)
        return {found[i].pid: found[i].bytes for i in range(count.value)}

    def text(self, function, size=256):
        buffer = ctypes.create_string_buffer(256)
        self.assertEqual(function(self.device, buffer, size), SUCCESS)
        return buffer.value.decode()

    def test_codes(self):
        nvml = self.nvml
        self.assertEqual(nvml.nvmlShutdown(), SUCCESS)
        count = ctypes.c_uint()
        self.assertEqual(nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)), UNINITIALIZED)
        self.assertEqual(nvml.nvmlDeviceGetTemperature(self.device, 0, ctypes.byref(count)), UNINITIALIZED)
        self.assertEqual(nvml.nvmlShutdown(), UNINITIALIZED)
        self.assertEqual(nvml.nvmlInit_v2(), SUCCESS)
        self.assertEqual(nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)), SUCCESS)
        self.assertEqual(count.value, 1)
        self.assertEqual(nvml.nvmlDeviceGetCount_v2(None), INVALID_ARGUMENT)
        self.assertEqual(nvml.nvmlDeviceGetHandleByIndex_v2(1, ctypes.byref(self.device)), INVALID_ARGUMENT)
        self.assertEqual(nvml.nvmlDeviceGetName(ctypes.c_void_p(16), ctypes.create_string_buffer(9), 9), INVALID_ARGUMENT)
        self.assertEqual(nvml.nvmlDeviceGetName(self.device, ctypes.create_string_buffer(9), 3), INSUFFICIENT_SIZE)
        self.assertEqual(nvml.nvmlDeviceGetTemperature(self.device, 0, ctypes.byref(count)), NOT_SUPPORTED)
        self.assertEqual(nvml.nvmlErrorString(NOT_SUPPORTED), b"Not Supported")

    def test_names(self):
        self.assertTrue(self.text(self.nvml.nvmlDeviceGetName).startswith("Bailey CPU ("))
        uuid, again = self.text(self.nvml.nvmlDeviceGetUUID), ctypes.c_void_p()
        self.assertRegex(uuid, "^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertEqual(self.nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(again)), SUCCESS)
        self.assertEqual(again.value, self.device.value)
        self.assertEqual(self.nvml.nvmlDeviceGetHandleByUUID(b"GPU-0", ctypes.byref(again)), NOT_FOUND)
        version = ctypes.c_int()
        self.assertEqual(self.nvml.nvmlSystemGetCudaDriverVersion(ctypes.byref(version)), SUCCESS)
        self.assertEqual(version.value, 13000)
        pci = ctypes.create_string_buffer(68)
        self.assertEqual(self.nvml.nvmlDeviceGetPciInfo_v3(self.device, pci), SUCCESS)
        self.assertEqual(self.nvml.nvmlDeviceGetHandleByPciBusId_v2(pci.raw[36:].split(b"\0")[0], ctypes.byref(again)), SUCCESS)

    def test_processes(self):
        process = self.start()
        seen = self.processes()
        self.assertIn(process.pid, seen)
        self.assertGreaterEqual(seen[process.pid], 48 * MIB)
        self.assertLess(seen[process.pid], 64 * MIB)
        memory = (ctypes.c_ulonglong * 3)()
        self.assertEqual(self.nvml.nvmlDeviceGetMemoryInfo(self.device, memory), SUCCESS)
        self.assertGreaterEqual(memory[2], 48 * MIB)
        self.assertEqual(memory[1] + memory[2], memory[0])
        name = ctypes.create_string_buffer(256)
        self.assertEqual(self.nvml.nvmlSystemGetProcessName(process.pid, name, 256), SUCCESS)
        self.assertEqual(name.value.decode(), sys.executable)
        count = ctypes.c_uint(0)
        self.assertEqual(self.nvml.nvmlDeviceGetComputeRunningProcesses_v3(self.device, ctypes.byref(count), None), INSUFFICIENT_SIZE)
        self.assertGreaterEqual(count.value, 1)
        top = subprocess.run([os.path.join(PREFIX, "bin/bailey"), "top", "--once"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertRegex(top.stdout, rf"{process.pid} +4\d MiB  .*python")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertNotIn(process.pid, self.processes())

    def test_utilization(self):
        rates = (ctypes.c_uint * 2)()
        process = self.start("busy")
        self.assertEqual(self.nvml.nvmlDeviceGetUtilizationRates(self.device, rates), SUCCESS)
        time.sleep(0.5)
        self.assertEqual(self.nvml.nvmlDeviceGetUtilizationRates(self.device, rates), SUCCESS)
        self.assertGreater(rates[0], 0)
        self.assertLessEqual(rates[0], 100)


unittest.main()
