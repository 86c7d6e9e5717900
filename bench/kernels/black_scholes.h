#define COUNT (4 << 20)
