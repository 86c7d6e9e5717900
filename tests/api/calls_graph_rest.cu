// All of calls_graph.cu.
#define REST 1
#include "calls_graph.cu"
