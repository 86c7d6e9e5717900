// SHA-256 of many messages of 64 bytes, one a thread (two blocks each, with the padding).
#include "../cuda.h"
#include "sha256.h"

__constant__ unsigned constants[64] = ROUND_CONSTANTS;

__device__ unsigned rotate(unsigned x, int n)
{
    return (x >> n) | (x << (32 - n));
}

__device__ void compress(unsigned *state, unsigned *w)
{
    unsigned a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            unsigned x = w[(i + 1) & 15], y = w[(i + 14) & 15];
            w[i & 15] += (rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)) + w[(i + 9) & 15] + (rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10));
        }
        unsigned t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i & 15];
        unsigned t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
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

__global__ void sha256(const unsigned *messages, unsigned *digests, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    unsigned state[8] = INITIAL, w[16];
#pragma unroll
    for (int j = 0; j < 16; j++)
        w[j] = __byte_perm(messages[i * 16 + j], 0, 0x0123);
    compress(state, w);
#pragma unroll
    for (int j = 0; j < 16; j++)
        w[j] = j == 0 ? 0x80000000u : j == 15 ? 512 : 0;
    compress(state, w);
#pragma unroll
    for (int j = 0; j < 8; j++)
        digests[i * 8 + j] = __byte_perm(state[j], 0, 0x0123);
}

void bench_run_cuda(void *const *p)
{
    sha256<<<(MESSAGES + 255) / 256, 256>>>((const unsigned *)p[0], (unsigned *)p[1], MESSAGES);
    FINISH();
}
