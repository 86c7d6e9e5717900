#define COUNT (64 << 20)
