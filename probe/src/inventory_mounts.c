#include "inventory_mounts.h"

#include <string.h>

#include "file.h"
#include "text.h"

/* mountinfo writes space, tab, newline and backslash as three octal digits (proc(5)). */
static void unescape(char *text)
{
    char *out = text;
    for (; *text != '\0'; text++) {
        bool octal = text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
                     text[2] <= '7' && text[3] >= '0' && text[3] <= '7';
        if (octal) {
            *out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 3;
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

static bool lies_in(const char *path, const char *point)
{
    size_t length = strlen(point);
    if (text_equal(point, "/"))
        return true;
    return text_starts(path, point) && (path[length] == '/' || path[length] == '\0');
}

/* 36 35 98:0 /root /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue */
static bool parse(char *line, struct inventory_mount *mount, const char *path, size_t longest)
{
    const char *word = NULL;
    for (int i = 0; i < 5; i++)
        if ((word = text_next_word(&line)) == NULL)
            return false;
    char point[OPTION_LINE_BYTES];
    text_copy(point, sizeof point, word);
    unescape(point);
    /* Of two on one point the later hides the earlier. */
    if (!lies_in(path, point) || strlen(point) < longest)
        return false;
    const char *options = text_next_word(&line);
    while ((word = text_next_word(&line)) != NULL && !text_equal(word, "-"))
        ;
    const char *type = text_next_word(&line);
    char *source = text_next_word(&line);
    const char *super_options = text_next_word(&line);
    if (options == NULL || type == NULL || source == NULL)
        return false;
    unescape(source);
    text_copy(mount->point, sizeof mount->point, point);
    text_copy(mount->options, sizeof mount->options, options);
    text_copy(mount->type, sizeof mount->type, type);
    text_copy(mount->source, sizeof mount->source, source);
    text_copy(mount->super_options, sizeof mount->super_options,
              super_options != NULL ? super_options : "");
    return true;
}

bool inventory_find_mount(const char *real_path, struct inventory_mount *mount)
{
    char window[4096];
    struct file_lines lines;
    size_t longest = 0;
    memset(mount, 0, sizeof *mount);
    if (!file_lines_open(&lines, "/proc/self/mountinfo", window, sizeof window))
        return false;
    for (char *line; (line = file_lines_next(&lines)) != NULL;)
        if (parse(line, mount, real_path, longest))
            longest = strlen(mount->point);
    return longest > 0;
}
