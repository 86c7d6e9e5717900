/* printf in kernels: formats at once, on the kernel's fiber, into a FIFO that waits write to the program's stdout. Reads of
 * the kernel's memory happen with no lock held: a bad pointer is the kernel's fault.
 */
#include "target/cpu/run.h"

#include <stdio.h>

enum {
    TEXT_MAX = 1 << 20,  /* bytes of one message; the rest is cut off */
    FIELD_MAX = 1 << 16, /* widths and precisions; larger ones count as this */
    COPY_BYTES = 256,
};

/* ---- the FIFO ------------------------------------------------------------------------------------------- */

/* print_lock held. */
static void flush(struct bl_cpu_runner *runner)
{
    size_t size = atomic_load(&runner->print_size);
    if (size)
        fwrite(runner->print_text, 1, size, stdout);
    atomic_store(&runner->print_size, 0);
}

void bl_cpu_print_flush(struct bl_cpu_runner *runner)
{
    if (bl_cpu_forked) /* what is in it is the parent's to print */
        return;
    pthread_mutex_lock(&runner->print_lock);
    flush(runner);
    pthread_mutex_unlock(&runner->print_lock);
}

void bl_cpu_flush_printf(struct bl_device *device)
{
    bl_cpu_print_flush(((struct bl_cpu_device *)device)->runner);
}

static bool make_room(struct bl_cpu_runner *runner, size_t size)
{
    size_t wanted = BL_MAX(BL_MAX(size, runner->print_capacity * 2), (size_t)4096);
    if (size <= runner->print_capacity)
        return true;
    wanted = BL_MIN(wanted, (size_t)runner->printf_limit);
    if (wanted < size)
        return false;
    char *text = bl_realloc(runner->print_text, wanted);
    if (!text)
        return false;
    runner->print_text = text;
    runner->print_capacity = wanted;
    return true;
}

/* A full FIFO is written out before its time: nothing is lost. */
void bl_cpu_print_add(struct bl_cpu_runner *runner, const char *text, size_t size)
{
    pthread_mutex_lock(&runner->print_lock);
    size_t used = atomic_load(&runner->print_size);
    if (!make_room(runner, used + size)) {
        flush(runner);
        used = 0;
    }
    if (make_room(runner, size)) {
        memcpy(runner->print_text + used, text, size);
        atomic_store(&runner->print_size, used + size);
    } else {
        fwrite(text, 1, size, stdout);
    }
    pthread_mutex_unlock(&runner->print_lock);
}

/* ---- formats ---------------------------------------------------------------------------------------------- */

/* Adds the string at a kernel's address, at most `most` bytes of it. May fault. */
__attribute__((no_sanitize("undefined"))) void bl_cpu_text_copy(struct bl_buffer *text, uint64_t address, size_t most)
{
    const volatile char *from = (const volatile char *)(uintptr_t)address;
    char part[COPY_BYTES];
    size_t used = 0;
    if (!address) {
        bl_buffer_add(text, "(null)", BL_MIN(most, (size_t)6));
        return;
    }
    most = BL_MIN(most, TEXT_MAX - BL_MIN(text->size, (size_t)TEXT_MAX));
    for (size_t i = 0; i < most && from[i]; i++) {
        part[used++] = from[i];
        if (used < sizeof(part))
            continue;
        bl_buffer_add(text, part, used);
        used = 0;
    }
    bl_buffer_add(text, part, used);
}

enum size { SIZE_CHAR, SIZE_SHORT, SIZE_INT, SIZE_LONG };

struct spec {
    char flags[8];
    int width, precision; /* -1: none */
    enum size size;
    char conversion;
};

/* Where a printf stands in its format and its arguments, in the kernel's memory. */
struct reader {
    const volatile char *format;
    uint64_t args, offset;
    int count; /* arguments read */
};

/* Arguments stand one after the other, each aligned to its size (CUDA's vprintf). A bad address is the kernel's fault. */
__attribute__((no_sanitize("undefined"))) static uint64_t next_argument(struct reader *reader, uint32_t size)
{
    uint64_t value = 0;
    reader->offset = BL_ALIGN_UP(reader->offset, (uint64_t)size);
    const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)(reader->args + reader->offset);
    for (uint32_t i = 0; i < size; i++)
        value |= (uint64_t)from[i] << 8 * i;
    reader->offset += size;
    reader->count++;
    return value;
}

/* A number or '*'. */
static int read_field(struct reader *reader)
{
    int value = 0;
    if (*reader->format == '*') {
        reader->format++;
        return (int32_t)next_argument(reader, 4);
    }
    for (; *reader->format >= '0' && *reader->format <= '9'; reader->format++)
        value = BL_MIN(value * 10 + (*reader->format - '0'), (int)FIELD_MAX);
    return value;
}

static void read_flags(struct reader *reader, struct spec *spec)
{
    size_t used = 0;
    for (char c = *reader->format; c && strchr("-+ #0", c); c = *++reader->format)
        if (!memchr(spec->flags, c, used))
            spec->flags[used++] = c;
}

static void read_size(struct reader *reader, struct spec *spec)
{
    spec->size = SIZE_INT;
    for (char c = *reader->format; c && strchr("hlLqjzt", c); c = *++reader->format) {
        if (c == 'h')
            spec->size = spec->size == SIZE_SHORT ? SIZE_CHAR : SIZE_SHORT;
        else
            spec->size = SIZE_LONG;
    }
}

static void read_spec(struct reader *reader, struct spec *spec)
{
    memset(spec, 0, sizeof(*spec));
    read_flags(reader, spec);
    spec->width = read_field(reader);
    if (spec->width < 0) {
        spec->width = spec->width < -FIELD_MAX ? FIELD_MAX : -spec->width;
        if (!strchr(spec->flags, '-'))
            spec->flags[strlen(spec->flags)] = '-';
    }
    spec->width = BL_MIN(spec->width, (int)FIELD_MAX);
    spec->precision = -1;
    if (*reader->format == '.') {
        reader->format++;
        int precision = read_field(reader);
        spec->precision = precision < 0 ? -1 : BL_MIN(precision, (int)FIELD_MAX);
    }
    read_size(reader, spec);
    spec->conversion = *reader->format;
    if (spec->conversion)
        reader->format++;
}

/* The format of one value for the C library. */
static void host_format(const struct spec *spec, const char *size, char *format, size_t bytes)
{
    int used = snprintf(format, bytes, "%%%s", spec->flags);
    if (spec->width)
        used += snprintf(format + used, bytes - (size_t)used, "%d", spec->width);
    if (spec->precision >= 0)
        used += snprintf(format + used, bytes - (size_t)used, ".%d", spec->precision);
    snprintf(format + used, bytes - (size_t)used, "%s%c", size, spec->conversion);
}

static int64_t as_signed(uint64_t value, enum size size)
{
    switch (size) {
    case SIZE_CHAR:
        return (int8_t)value;
    case SIZE_SHORT:
        return (int16_t)value;
    case SIZE_INT:
        return (int32_t)value;
    case SIZE_LONG:
        break;
    }
    return (int64_t)value;
}

static uint64_t as_unsigned(uint64_t value, enum size size)
{
    static const uint64_t masks[] = {UINT8_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX};
    return value & masks[size];
}

static void put_string(struct bl_buffer *text, const struct spec *spec, uint64_t address)
{
    size_t before = text->size;
    bool left = strchr(spec->flags, '-') != NULL;
    bl_cpu_text_copy(text, address, spec->precision >= 0 ? (size_t)spec->precision : SIZE_MAX);
    size_t length = text->size - before, width = (size_t)spec->width;
    if (length >= width || text->failed)
        return;
    for (size_t i = length; i < width; i++)
        bl_buffer_add(text, " ", 1);
    if (left || text->failed)
        return;
    memmove(text->data + before + width - length, text->data + before, length);
    memset(text->data + before, ' ', width - length);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* host_format made them */

static void put_value(struct bl_buffer *text, const struct spec *spec, struct reader *reader)
{
    char format[48];
    uint64_t value;
    double real;

    host_format(spec, spec->conversion != 'c' && strchr("diuxXo", spec->conversion) ? "ll" : "", format, sizeof(format));
    switch (spec->conversion) {
    case 'd':
    case 'i':
        value = next_argument(reader, spec->size == SIZE_LONG ? 8 : 4);
        bl_buffer_printf(text, format, (long long)as_signed(value, spec->size));
        break;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        value = next_argument(reader, spec->size == SIZE_LONG ? 8 : 4);
        bl_buffer_printf(text, format, (unsigned long long)as_unsigned(value, spec->size));
        break;
    case 'c':
        bl_buffer_printf(text, format, (int)next_argument(reader, 4));
        break;
    case 'p':
        bl_buffer_printf(text, format, (void *)(uintptr_t)next_argument(reader, 8));
        break;
    default:
        value = next_argument(reader, 8);
        memcpy(&real, &value, sizeof(real));
        bl_buffer_printf(text, format, real);
    }
}
#pragma GCC diagnostic pop

static void put_conversion(struct bl_buffer *text, struct reader *reader)
{
    const volatile char *start = reader->format;
    struct spec spec;
    read_spec(reader, &spec);
    if (spec.conversion == '%') {
        bl_buffer_add(text, "%", 1);
    } else if (spec.conversion == 's') {
        put_string(text, &spec, next_argument(reader, 8));
    } else if (spec.conversion && strchr("diuxXocpeEfFgGaA", spec.conversion)) {
        put_value(text, &spec, reader);
    } else if (spec.conversion == 'n') {
        next_argument(reader, 8); /* writes nothing: CUDA has no %n */
    } else {                      /* not known: stands as it is */
        bl_buffer_add(text, "%", 1);
        for (; start < reader->format; start++)
            bl_buffer_add(text, &(char){*start}, 1);
    }
}

/* How many arguments were printed; -1: no format, or no memory. */
static int format_text(struct bl_buffer *text, uint64_t format, uint64_t args)
{
    struct reader reader = {.format = (const volatile char *)(uintptr_t)format, .args = args};
    text->size = 0;
    text->failed = false;
    if (!format)
        return -1;
    for (char c; (c = *reader.format) && text->size < TEXT_MAX && !text->failed;) {
        char part[COPY_BYTES];
        size_t used = 0;
        for (; c && c != '%' && used < sizeof(part); c = *++reader.format)
            part[used++] = c;
        bl_buffer_add(text, part, used);
        if (c != '%')
            continue;
        reader.format++;
        put_conversion(text, &reader);
    }
    return text->failed ? -1 : reader.count;
}

void bl_cpu_help_printf(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *format, const uint64_t *args, uint32_t *results)
{
    struct bl_cpu_cta *cta = warp->runtime;
    struct bl_cpu_core *core = cta->core;
    bl_cpu_obey_stop(core);
    for (uint32_t mask = lanes; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        core->helping++;
        int count = format_text(&core->text, format[lane], args[lane]);
        core->helping--;
        results[lane] = (uint32_t)count;
        if (count >= 0 && core->text.size)
            bl_cpu_print_add(core->runner, core->text.data, core->text.size);
    }
}
