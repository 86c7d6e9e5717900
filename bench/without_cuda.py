"""Writes examples/vector_add.cu with its CUDA calls taken out: the kernel becomes a loop on the host, device memory the host's.
without_cuda.py IN OUT; called by bench/run."""
import re
import sys

text = open(sys.argv[1]).read()
text = text.replace("#include <cuda_runtime.h>", "")
text = re.sub(r"^static void check\(.*?^}\n", "", text, flags=re.S | re.M)
text = re.sub(r"^\s*check\(.*?;\n", "", text, flags=re.M)
text = re.sub(r"^\s*cudaFree.*\n", "", text, flags=re.M)
text = re.sub(r"__global__ void (\w+)\((.*?)\)", r"static void \1(\2, int i)", text)
text = re.sub(r"^\s*int i = blockDim.*\n", "", text, flags=re.M)
text = re.sub(r"(\w+)<<<.*?>>>\((.*?)\);", r"for (int k = 0; k < count; k++) \1(\2, k);", text)
text = text.replace("float *device_a, *device_b, *device_c;", "float *device_a = a, *device_b = b, *device_c = c;\n    (void)device_c;")
open(sys.argv[2], "w").write(text)
