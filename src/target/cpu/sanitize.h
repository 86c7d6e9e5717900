/* Tells AddressSanitizer of switches between stacks; nothing in other builds. Included by fiber.c and fault.c. */
#ifndef BAILEY_CPU_SANITIZE_H
#define BAILEY_CPU_SANITIZE_H

#include "target/cpu/run.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BL_CPU_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define BL_CPU_ASAN 1
#endif

#if defined(BL_CPU_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* The stack of this thread, not of a fiber on it. Never inlined: a compiler may keep the address of a variable of the thread's
 * over a switch, and the fiber may go on in another thread.
 */
__attribute__((noinline)) static void bl_cpu_thread_stack(void **bottom, size_t *size)
{
    static __thread void *known;
    static __thread size_t known_size;
    pthread_attr_t attr;
    if (!known && pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &known, &known_size);
        pthread_attr_destroy(&attr);
    }
    *bottom = known;
    *size = known_size;
}

/* Before a switch to a fiber, or to the scheduler (NULL). */
static inline void bl_cpu_leaving(const struct bl_cpu_fiber *to, void **fake)
{
    void *bottom;
    size_t size;
    bl_cpu_thread_stack(&bottom, &size); /* also on the way to a fiber: a signal handler can only use what is known */
    if (to) {
        bottom = to->stack.map + BL_CPU_GUARD;
        size = to->stack.size - BL_CPU_GUARD;
    }
    __sanitizer_start_switch_fiber(fake, bottom, size);
}

/* After it, on the other stack. */
static inline void bl_cpu_arrived(void *fake)
{
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

static inline void bl_cpu_stack_clean(const struct bl_cpu_stack *stack)
{
    __asan_unpoison_memory_region(stack->map + BL_CPU_GUARD, stack->size - BL_CPU_GUARD);
}
#else
static inline void bl_cpu_leaving(const struct bl_cpu_fiber *to, void **fake)
{
}
static inline void bl_cpu_arrived(void *fake)
{
}
static inline void bl_cpu_stack_clean(const struct bl_cpu_stack *stack)
{
}
#endif

#endif
