/* The JSON writer of the commands' --json. */
#include "cli/cli.h"

#include <stdio.h>

size_t bl_cli_utf8_length(const unsigned char *text, size_t size)
{
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (first >= 0x80 && first < 0xc2)
        return 0;
    if (length > size)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
    bool outside = (first == 0xed && text[1] >= 0xa0) || (first == 0xf4 && text[1] >= 0x90);
    return overlong || outside ? 0 : length;
}

static void quote(struct bl_buffer *out, struct bl_sv text)
{
    bl_buffer_add(out, "\"", 1);
    for (size_t i = 0, length; i < text.size; i += length) {
        const unsigned char *at = (const unsigned char *)text.data + i;
        length = bl_cli_utf8_length(at, text.size - i);
        if (!length) { /* not text: the replacement character */
            bl_buffer_add(out, "\\ufffd", 6);
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            bl_buffer_printf(out, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            bl_buffer_printf(out, "\\u%04x", *at);
        } else {
            bl_buffer_add(out, at, length);
        }
    }
    bl_buffer_add(out, "\"", 1);
}

static void start(struct bl_json *json, const char *name)
{
    bool *filled = &json->filled[json->depth];
    if (json->depth)
        bl_buffer_printf(&json->out, "%s\n%*s", *filled ? "," : "", (int)json->depth * 2, "");
    *filled = true;
    if (name) {
        quote(&json->out, bl_sv(name));
        bl_buffer_add(&json->out, ": ", 2);
    }
}

void bl_json_open(struct bl_json *json, const char *name, char bracket)
{
    start(json, name);
    bl_buffer_add(&json->out, &bracket, 1);
    json->depth++;
    json->filled[json->depth] = false;
}

void bl_json_close(struct bl_json *json, char bracket)
{
    bool filled = json->filled[json->depth];
    json->depth--;
    if (filled)
        bl_buffer_printf(&json->out, "\n%*s", (int)json->depth * 2, "");
    bl_buffer_add(&json->out, &bracket, 1);
}

void bl_json_text(struct bl_json *json, const char *name, struct bl_sv text)
{
    start(json, name);
    quote(&json->out, text);
}

void bl_json_number(struct bl_json *json, const char *name, uint64_t number)
{
    start(json, name);
    bl_buffer_printf(&json->out, "%llu", (unsigned long long)number);
}

void bl_json_bool(struct bl_json *json, const char *name, bool value)
{
    start(json, name);
    bl_buffer_printf(&json->out, value ? "true" : "false");
}

bool bl_json_print(struct bl_json *json)
{
    bl_buffer_add(&json->out, "\n", 1);
    bool fine = !json->out.failed && fwrite(json->out.data, 1, json->out.size, stdout) == json->out.size;
    bl_buffer_cleanup(&json->out);
    return fine;
}
