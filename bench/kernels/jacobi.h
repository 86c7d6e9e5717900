#define WIDTH 1024
#define HEIGHT 1024
#define STEPS 50
