#define COUNT (32 << 20)
#define LENGTH 12
