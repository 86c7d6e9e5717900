#define ROWS (1 << 20)
#define LEAST 8
#define MOST 24 /* elements a row */
