#define COUNT (32 << 20)
