#define N 256
