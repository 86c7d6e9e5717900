/* SHA-256 of many messages of 64 bytes, one an item. */
#include "sha256.h"
#ifdef __OPENCL_VERSION__
constant uint constants[64] = ROUND_CONSTANTS;

uint swap_bytes(uint x)
{
    return as_uint(as_uchar4(x).wzyx);
}

uint rotate(uint x, int n)
{
    return (x >> n) | (x << (32 - n));
}

void compress(uint *state, uint *w)
{
    uint a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            uint x = w[(i + 1) & 15], y = w[(i + 14) & 15];
            w[i & 15] += (rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)) + w[(i + 9) & 15] + (rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10));
        }
        uint t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i & 15];
        uint t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

kernel void sha256(global const uint *messages, global uint *digests, int count)
{
    int i = get_global_id(0);
    if (i >= count)
        return;
    uint state[8] = INITIAL, w[16];
#pragma unroll
    for (int j = 0; j < 16; j++)
        w[j] = swap_bytes(messages[i * 16 + j]);
    compress(state, w);
#pragma unroll
    for (int j = 0; j < 16; j++)
        w[j] = j == 0 ? 0x80000000u : j == 15 ? 512 : 0;
    compress(state, w);
#pragma unroll
    for (int j = 0; j < 8; j++)
        digests[i * 8 + j] = swap_bytes(state[j]);
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "sha256", (MESSAGES + 255) / 256, 1, 256, 1, "bbi", 0, 1, MESSAGES);
    bench_opencl_wait(cl);
}
#endif
