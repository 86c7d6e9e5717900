#define COUNT (1 << 20)
