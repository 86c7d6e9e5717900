#define WIDTH 4096
#define HEIGHT 2048
#define RADIUS 8
