/* For programs that include the words of CUDA C++ alone. */
#include "crt/host_defines.h"
