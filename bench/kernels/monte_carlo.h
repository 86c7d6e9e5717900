#define THREADS (16 << 10)
#define DRAWS 1024 /* of four numbers, a thread */
