/* Stands in for src/target/cpu while that has no bl_cpu_device_create: the library links, and says what it lacks. */
#include "device.h"

enum bl_status bl_cpu_device_create(int ordinal, struct bl_device **device, struct bl_error *error)
{
    return bl_fail(error, BL_UNSUPPORTED, "this build of Bailey has no CPU device");
}
