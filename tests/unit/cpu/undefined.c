/* Compiled to an object that refers to something outside itself, which the loader must refuse by name. */
struct bl_cpu_warp;
int somewhere_else(struct bl_cpu_warp *warp);
void bl_kernel(struct bl_cpu_warp *warp);
void bl_kernel(struct bl_cpu_warp *warp)
{
    somewhere_else(warp);
}
