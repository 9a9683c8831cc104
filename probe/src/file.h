/* Small text files of /proc, /sys and /etc, read whole and never trusted in length. */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads from the start; `out` is terminated, and cut at size - 1. Bytes read, -1 on failure. */
long file_read(const char *path, char *out, size_t size);
/* Same of a file that is open. */
long file_reread(int fd, char *out, size_t size);
/* The trimmed text of directory/name, all of it if it fits. False if it is missing or empty. */
bool file_text(const char *directory, const char *name, char *out, size_t size);
bool file_u64(const char *directory, const char *name, uint64_t *value);
bool file_exists(const char *directory, const char *name);
/* The last part of where the link directory/name points. */
bool file_link_name(const char *directory, const char *name, char *out, size_t size);

/* The path with all links resolved. False, with errno, if it cannot be opened. */
bool file_real_path(const char *path, char *out, size_t size);

/* Lines of a text file of any length, in a window of the caller's. Longer lines are cut. */
struct file_lines {
    int fd;
    char *window;
    size_t size;
    size_t start, end;
    bool skipping; /* the rest of a line that was cut */
    bool ended;
};

bool file_lines_open(struct file_lines *lines, const char *path, char *window, size_t size);
/* The next line without its newline; NULL at the end, and then the file is closed. */
char *file_lines_next(struct file_lines *lines);
void file_lines_close(struct file_lines *lines);

/* Calls `each` with every name in a directory but `.` and `..`, in the directory's order, until it
 * returns false. */
void file_names(const char *directory, bool (*each)(const char *name, void *context),
                void *context);

#endif
