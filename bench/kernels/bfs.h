#define NODES (1 << 20)
#define DEGREE 8 /* on average */
#define FAR 0xffffffffu
