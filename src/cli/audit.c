/* bailey-audit.so: loaded by the dynamic loader (LD_AUDIT, set by bailey run) into a namespace of its own. When a program asks for
 * a CUDA library by any path, it is given Bailey's, where Bailey has one of that name. Everything else stays as it is.
 *
 * It uses no library: an audit library is loaded into every process that the program starts, and a second C library in each of
 * them would cost more than the work itself. Interface: rtld-audit(7). */
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT unsigned int la_version(unsigned int version);
EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag);

enum { LONGEST_PATH = 4096 };
static const char own_name[] = "/bailey-audit.so";
static char folder[LONGEST_PATH]; /* where Bailey's libraries are, "" unknown */
static char answer[LONGEST_PATH]; /* the loader copies it while it holds its lock */
static size_t folder_size;

static size_t length(const char *text)
{
    size_t size = 0;
    while (text[size])
        size++;
    return size;
}

static bool starts(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++)
            return false;
    return true;
}

static void copy(char *to, const char *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = from[i];
}

static bool file_exists(const char *path)
{
    long result;
#if defined(__x86_64__)
    register long mode __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_faccessat), "D"((long)-100 /* AT_FDCWD */), "S"(path), "d"((long)0 /* F_OK */), "r"(mode)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_faccessat;
    register long first __asm__("x0") = -100; /* AT_FDCWD */
    register const char *second __asm__("x1") = path;
    register long third __asm__("x2") = 0; /* F_OK */
    __asm__ volatile("svc 0" : "+r"(first) : "r"(number), "r"(second), "r"(third) : "memory");
    result = first;
#else
#error "this processor is not known here"
#endif
    return result == 0;
}

/* The loader gives constructors the environment. Our own path stands in LD_AUDIT. */
__attribute__((constructor)) static void find_folder(int argc, char **argv, char **environment)
{
    for (; environment && *environment; environment++) {
        const char *list = *environment;
        if (!starts(list, "LD_AUDIT="))
            continue;
        for (list += sizeof("LD_AUDIT=") - 1; *list;) {
            size_t size = 0, own = sizeof(own_name) - 1;
            while (list[size] && list[size] != ':')
                size++;
            if (size > own && size < LONGEST_PATH && starts(list + size - own, own_name)) {
                folder_size = size - own + 1;
                copy(folder, list, folder_size); /* with its last slash */
                return;
            }
            list += size + (list[size] == ':');
        }
    }
}

unsigned int la_version(unsigned int version)
{
    return version;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hexadecimal(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* Makes folder/name of size bytes; true where it exists. */
static bool ours_exists(const char *name, size_t size)
{
    if (folder_size + size >= LONGEST_PATH)
        return false;
    copy(answer, folder, folder_size);
    copy(answer + folder_size, name, size);
    answer[folder_size + size] = 0;
    return file_exists(answer);
}

/* Python wheels rename the libraries that they bring along: libcudart-0a1b2c3d.so.12. Writes the name without the hash. */
static size_t without_hash(const char *name, size_t size, char *to)
{
    for (size_t i = 0; i + 12 <= size; i++) {
        size_t digits = 0;
        if (name[i] != '-')
            continue;
        while (digits < 8 && is_hexadecimal(name[i + 1 + digits]))
            digits++;
        if (digits != 8 || !starts(name + i + 9, ".so"))
            continue;
        copy(to, name, i);
        copy(to + i, name + i + 9, size - i - 9);
        return size - 9;
    }
    copy(to, name, size);
    return size;
}

/* libcudart.so.12.4.127 is libcudart.so.12 for us; the newest of all, libcudart.so, only by that name. */
static size_t without_last_number(const char *name, size_t size)
{
    size_t end = size;
    while (end && is_digit(name[end - 1]))
        end--;
    if (end == size || !end || name[end - 1] != '.')
        return 0;
    end--;
    return end && is_digit(name[end - 1]) ? end : 0;
}

static bool is_driver_name(const char *name)
{
    return starts(name, "libcuda.so");
}

static bool find_ours(const char *name, size_t size)
{
    char plain[256];
    static const char driver[] = "libcuda.so.1";
    if (size >= sizeof(plain))
        return false;
    size = without_hash(name, size, plain);
    plain[size] = 0;
    for (size_t rest = size; rest; rest = without_last_number(plain, rest))
        if (ours_exists(plain, rest))
            return true;
    return is_driver_name(plain) && ours_exists(driver, sizeof(driver) - 1);
}

char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
    const char *base = name;
    if (flag != LA_SER_ORIG || !folder_size)
        return (char *)(uintptr_t)name;
    for (const char *at = name; *at; at++)
        if (*at == '/')
            base = at + 1;
    /* Every library of NVIDIA's that Bailey could have is called libcu…, libnv… or libnccl…. */
    if (!starts(base, "libcu") && !starts(base, "libnv") && !starts(base, "libnccl"))
        return (char *)(uintptr_t)name;
    return find_ours(base, length(base)) ? answer : (char *)(uintptr_t)name;
}
