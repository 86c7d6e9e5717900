/* Room base: arena, arrays, map, buffer, errors, files, fault injection. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void arena_gives_zeroed_aligned_memory(void **state)
{
    struct bl_arena arena;
    bl_arena_init(&arena);
    for (size_t size = 0; size < 100000; size = size * 2 + 1) {
        char *block = bl_arena_alloc(&arena, size);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(block[i], 0);
        memset(block, 0xee, size);
    }
    assert_null(bl_arena_alloc(&arena, SIZE_MAX));
    assert_null(bl_arena_alloc_array(&arena, SIZE_MAX / 2, 4));
    bl_arena_cleanup(&arena);
    (void)state;
}

static void arena_jumps_when_memory_is_out(void **state)
{
    struct bl_arena arena;
    jmp_buf out;
    volatile int jumped = 0;

    bl_arena_init(&arena);
    arena.no_memory = &out;
    if (setjmp(out)) {
        jumped = 1;
    } else {
        bl_fault_inject("alloc", 1);
        bl_arena_alloc(&arena, 1);
        fail();
    }
    assert_int_equal(jumped, 1);
    bl_arena_cleanup(&arena);
    (void)state;
}

static void map_finds_what_was_set(void **state)
{
    struct bl_arena arena;
    struct bl_map map = {0};
    BL_ARRAY(int) numbers = {0};

    bl_arena_init(&arena);
    for (int i = 0; i < 5000; i++)
        *BL_PUSH(&arena, &numbers) = i;
    for (int i = 0; i < 5000; i++)
        assert_null(bl_map_set(&arena, &map, bl_sv(bl_arena_printf(&arena, "key%d", i)), &numbers.items[i]));
    for (int i = 0; i < 5000; i++)
        assert_int_equal(*(int *)bl_map_get(&map, bl_sv(bl_arena_printf(&arena, "key%d", i))), i);
    assert_null(bl_map_get(&map, bl_sv("none")));
    assert_int_equal(map.count, 5000);
    bl_arena_cleanup(&arena);
    (void)state;
}

static void first_error_stays(void **state)
{
    struct bl_error error = BL_ERROR_INIT;
    assert_int_equal(bl_fail(&error, BL_SYNTAX, "first %d", 1), BL_SYNTAX);
    assert_int_equal(bl_fail(&error, BL_IO, "second"), BL_IO);
    assert_int_equal(error.status, BL_SYNTAX);
    assert_string_equal(error.message, "first 1");
    assert_int_equal(bl_fail(NULL, BL_IO, "nowhere"), BL_IO);
    (void)state;
}

static void file_round_trip_and_faults(void **state)
{
    char path[] = "/tmp/bailey-test-XXXXXX";
    struct bl_error error = BL_ERROR_INIT;
    char *data;
    size_t size;

    close(mkstemp(path));
    assert_int_equal(bl_file_write(path, "hello", 5, &error), BL_OK);
    assert_int_equal(bl_file_read(path, &data, &size, &error), BL_OK);
    assert_int_equal(size, 5);
    assert_string_equal(data, "hello");
    bl_free(data);
    bl_fault_inject("read", 1);
    assert_int_equal(bl_file_read(path, &data, &size, NULL), BL_IO);
    unlink(path);
    assert_int_equal(bl_file_read(path, &data, &size, &error), BL_NOT_FOUND);
    (void)state;
}

/* A rename would put a file in the place of a device. */
static void file_write_keeps_a_pipe(void **state)
{
    char path[] = "/tmp/bailey-test-XXXXXX", got[8] = "";
    struct stat info;

    close(mkstemp(path));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(bl_file_write(path, "hello", 5, NULL), BL_OK);
    assert_int_equal(read(fd, got, sizeof(got)), 5);
    assert_string_equal(got, "hello");
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    close(fd);
    unlink(path);
    assert_int_equal(bl_file_write("/", "hello", 5, NULL), BL_IO);
    (void)state;
}

static void buffer_grows(void **state)
{
    struct bl_buffer buffer = {0};
    for (int i = 0; i < 1000; i++)
        bl_buffer_printf(&buffer, "%d,", i % 10);
    assert_false(buffer.failed);
    assert_int_equal(buffer.size, 2000);
    bl_buffer_printf(&buffer, "%2000s", "x");
    assert_int_equal(buffer.size, 4000);
    bl_buffer_cleanup(&buffer);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(arena_jumps_when_memory_is_out),
        cmocka_unit_test(map_finds_what_was_set),
        cmocka_unit_test(first_error_stays),
        cmocka_unit_test(file_round_trip_and_faults),
        cmocka_unit_test(file_write_keeps_a_pipe),
        cmocka_unit_test(buffer_grows),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
