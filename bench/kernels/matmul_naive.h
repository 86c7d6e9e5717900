#define N 512
