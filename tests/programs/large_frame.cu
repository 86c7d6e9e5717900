// Threads that keep thousands of values over a loop in which they wait for another block, and over barriers: what a warp of them
// keeps on its machine stack is several times a usual fiber's stack.
#include "check.h"
#include <cuda.h>
#include <string>

#define DRIVER(call)                                                                                                               \
    do {                                                                                                                           \
        CUresult driver_result = (call);                                                                                           \
        if (driver_result != CUDA_SUCCESS) {                                                                                       \
            printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, driver_result);                                                   \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

enum { VALUES = 1300, THREADS = 96, BLOCKS = 12 };

// Each thread reads VALUES words, from its own place on; waits until turn is its block's number; weighs them and stores the sum.
static std::string make_ptx()
{
    std::string text = ".version 7.0\n.target sm_70\n.address_size 64\n"
                       ".visible .entry hoard(.param .u64 in, .param .u64 out, .param .u64 turn)\n{\n"
                       "    .reg .b64 %v<" + std::to_string(VALUES) + ">; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<3>;\n"
                       "    ld.param.u64 %d1, [in];\n    ld.param.u64 %d2, [out];\n    ld.param.u64 %d3, [turn];\n"
                       "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n"
                       "    mad.lo.u32 %r4, %r2, %r3, %r1;\n    mul.wide.u32 %d4, %r4, 8;\n"
                       "    add.u64 %d5, %d1, %d4;\n    add.u64 %d6, %d2, %d4;\n";
    for (int i = 0; i < VALUES; i++)
        text += "    ld.global.u64 %v" + std::to_string(i) + ", [%d5+" + std::to_string(8 * i) + "];\n";
    text += "    bar.sync 0;\nwait:\n    ld.volatile.global.u32 %r5, [%d3];\n    setp.ne.u32 %p1, %r5, %r2;\n    @%p1 bra wait;\n"
            "    bar.sync 0;\n    mov.u64 %d7, 0;\n";
    for (int i = 0; i < VALUES; i++)
        text += "    mad.lo.u64 %d7, %d7, 31, %v" + std::to_string(i) + ";\n";
    return text + "    st.global.u64 [%d6], %d7;\n    membar.gl;\n    bar.sync 0;\n    setp.ne.u32 %p2, %r1, 0;\n    @%p2 bra done;\n"
                  "    add.u32 %r7, %r2, 1;\n    st.volatile.global.u32 [%d3], %r7;\ndone:\n    ret;\n}\n";
}

int main()
{
    const size_t threads = THREADS * BLOCKS;
    uint64_t *in = managed<uint64_t>(threads + VALUES), *out = managed<uint64_t>(threads);
    uint32_t *turn = managed<uint32_t>(1);
    std::string ptx = make_ptx();
    CUmodule module;
    CUfunction function;
    uint32_t state = 5;
    for (size_t i = 0; i < threads + VALUES; i++)
        in[i] = (uint64_t)next_random(&state) << 32 | next_random(&state);
    DRIVER(cuModuleLoadData(&module, ptx.c_str()));
    DRIVER(cuModuleGetFunction(&function, module, "hoard"));
    void *params[] = {&in, &out, &turn};
    for (int round = 0; round < 3; round++) {
        *turn = 0;
        memset(out, 0, threads * sizeof(*out));
        DRIVER(cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
        CHECK(cudaDeviceSynchronize());
        for (size_t t = 0; t < threads; t++) {
            uint64_t sum = 0;
            for (int i = 0; i < VALUES; i++)
                sum = sum * 31 + in[t + i];
            if (out[t] != sum) {
                printf("round %d, thread %zu: %llu, expected %llu\n", round, t, (unsigned long long)out[t],
                       (unsigned long long)sum);
                failures++;
                break;
            }
        }
        REQUIRE(*turn == BLOCKS);
    }
    DRIVER(cuModuleUnload(module));
    return finish();
}
