#define COUNT (16 << 20)
#define TILE 1024
#define TILES (COUNT / TILE)
