/* Programs include this for the compiler checks of NVIDIA's header; ours has nothing to refuse. */
#ifndef __HOST_CONFIG_H__
#define __HOST_CONFIG_H__
#include <features.h>
#include "host_defines.h"
#endif
