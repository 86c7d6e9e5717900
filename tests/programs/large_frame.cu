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

enum { VALUES = 3000, THREADS = 96, BLOCKS = 12 };

// Each thread reads VALUES words, from its own place on; waits until turn is its block's number; weighs them and stores the sum.
static std::string make_ptx()
{
    std::string text = ".version 7.0\n.target sm_70\n.address_size 64\n"
                       ".visible .entry hoard(.param .u64 in, .param .u64 out, .param .u64 turn)\n{\n"
                       "    .reg .b32 %v<" + std::to_string(VALUES) + ">; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<3>;\n"
                       "    ld.param.u64 %d1, [in];\n    ld.param.u64 %d2, [out];\n    ld.param.u64 %d3, [turn];\n"
                       "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n"
                       "    mad.lo.u32 %r4, %r2, %r3, %r1;\n    mul.wide.u32 %d4, %r4, 4;\n"
                       "    add.u64 %d5, %d1, %d4;\n    add.u64 %d6, %d2, %d4;\n";
    for (int i = 0; i < VALUES; i++)
        text += "    ld.global.u32 %v" + std::to_string(i) + ", [%d5+" + std::to_string(4 * i) + "];\n";
    text += "    bar.sync 0;\nwait:\n    ld.volatile.global.u32 %r5, [%d3];\n    setp.ne.u32 %p1, %r5, %r2;\n    @%p1 bra wait;\n"
            "    bar.sync 0;\n    mov.u32 %r6, 0;\n";
    for (int i = 0; i < VALUES; i++)
        text += "    mad.lo.u32 %r6, %r6, 31, %v" + std::to_string(i) + ";\n";
    return text + "    st.global.u32 [%d6], %r6;\n    membar.gl;\n    bar.sync 0;\n    setp.ne.u32 %p2, %r1, 0;\n    @%p2 bra done;\n"
                  "    add.u32 %r7, %r2, 1;\n    st.volatile.global.u32 [%d3], %r7;\ndone:\n    ret;\n}\n";
}

int main()
{
    const size_t threads = THREADS * BLOCKS;
    uint32_t *in = managed<uint32_t>(threads + VALUES), *out = managed<uint32_t>(threads), *turn = managed<uint32_t>(1);
    std::string ptx = make_ptx();
    CUmodule module;
    CUfunction function;
    uint32_t state = 5;
    for (size_t i = 0; i < threads + VALUES; i++)
        in[i] = next_random(&state);
    DRIVER(cuModuleLoadData(&module, ptx.c_str()));
    DRIVER(cuModuleGetFunction(&function, module, "hoard"));
    void *params[] = {&in, &out, &turn};
    for (int round = 0; round < 3; round++) {
        *turn = 0;
        memset(out, 0, threads * sizeof(*out));
        DRIVER(cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
        CHECK(cudaDeviceSynchronize());
        for (size_t t = 0; t < threads; t++) {
            uint32_t sum = 0;
            for (int i = 0; i < VALUES; i++)
                sum = sum * 31 + in[t + i];
            if (out[t] != sum) {
                printf("round %d, thread %zu: %u, expected %u\n", round, t, out[t], sum);
                failures++;
                break;
            }
        }
        REQUIRE(*turn == BLOCKS);
    }
    DRIVER(cuModuleUnload(module));
    return finish();
}
