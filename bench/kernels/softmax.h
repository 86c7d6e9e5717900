#define ROWS 8192
#define WIDTH 1024
