/* SHA-256 of many messages of 64 bytes. */
#include "sha256.h"
#include "../harness.h"

static const uint32_t constants[64] = ROUND_CONSTANTS;

void bench_setup(struct bench *bench)
{
    uint32_t *messages = bench_buffer(bench, BENCH_U32, 16 * MESSAGES, BENCH_IN);
    bench_buffer(bench, BENCH_U32, 8 * MESSAGES, BENCH_OUT);
    uint64_t random = 1;
    for (int i = 0; i < 16 * MESSAGES; i++)
        messages[i] = bench_random(&random);
    bench->work = 1e-9 * MESSAGES * 64;
    bench->unit = "GB/s";
}

static uint32_t rotate(uint32_t x, int n)
{
    return (x >> n) | (x << (32 - n));
}

static void compress(uint32_t *state, uint32_t *w)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
#pragma GCC unroll 64
    for (int i = 0; i < 64; i++) {
        if (i >= 16) {
            uint32_t x = w[(i + 1) & 15], y = w[(i + 14) & 15];
            w[i & 15] += (rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)) + w[(i + 9) & 15] + (rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10));
        }
        uint32_t t1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i & 15];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
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

void bench_run(void *const *p)
{
    const uint32_t *messages = p[0];
    uint32_t *digests = p[1];
#pragma omp parallel for
    for (int i = 0; i < MESSAGES; i++) {
        uint32_t state[8] = INITIAL, w[16];
        for (int j = 0; j < 16; j++)
            w[j] = __builtin_bswap32(messages[i * 16 + j]);
        compress(state, w);
        for (int j = 0; j < 16; j++)
            w[j] = j == 0 ? 0x80000000u : j == 15 ? 512 : 0;
        compress(state, w);
        for (int j = 0; j < 8; j++)
            digests[i * 8 + j] = __builtin_bswap32(state[j]);
    }
}
