#define BODIES 8192
