/* The older place of crt/host_config.h. */
#include "crt/host_config.h"
