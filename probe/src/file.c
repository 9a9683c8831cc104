#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "options.h"
#include "text.h"

static int open_quietly(const char *path)
{
    /* O_NONBLOCK: a FIFO in the place of a file must not hold us up. */
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

long file_reread(int fd, char *out, size_t size)
{
    size_t length = 0;
    while (length < size - 1) {
        ssize_t got = pread(fd, out + length, size - 1 - length, (off_t)length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && length == 0)
            return -1;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    out[length] = '\0';
    return (long)length;
}

long file_read(const char *path, char *out, size_t size)
{
    int fd = open_quietly(path);
    if (fd < 0)
        return -1;
    long length = file_reread(fd, out, size);
    close(fd);
    return length;
}

bool file_text(const char *directory, const char *name, char *out, size_t size)
{
    char path[OPTION_PATH_BYTES];
    if (!text_join(path, sizeof path, directory, "/", name, NULL))
        return false;
    if (file_read(path, out, size) <= 0)
        return false;
    char *text = text_trim(out);
    memmove(out, text, strlen(text) + 1);
    return *out != '\0';
}

bool file_u64(const char *directory, const char *name, uint64_t *value)
{
    char text[32];
    return file_text(directory, name, text, sizeof text) && text_to_u64(text, UINT64_MAX, value);
}

bool file_exists(const char *directory, const char *name)
{
    char path[OPTION_PATH_BYTES];
    return text_join(path, sizeof path, directory, "/", name, NULL) && access(path, F_OK) == 0;
}

bool file_link_name(const char *directory, const char *name, char *out, size_t size)
{
    char path[OPTION_PATH_BYTES], link[OPTION_PATH_BYTES];
    if (!text_join(path, sizeof path, directory, "/", name, NULL))
        return false;
    ssize_t length = readlink(path, link, sizeof link - 1);
    if (length <= 0)
        return false;
    link[length] = '\0';
    const char *slash = strrchr(link, '/');
    text_copy(out, size, slash != NULL ? slash + 1 : link);
    return true;
}

bool file_lines_open(struct file_lines *lines, const char *path, char *window, size_t size)
{
    *lines = (struct file_lines){.fd = open_quietly(path), .window = window, .size = size};
    return lines->fd >= 0;
}

void file_lines_close(struct file_lines *lines)
{
    if (lines->fd >= 0)
        close(lines->fd);
    lines->fd = -1;
}

static void read_more(struct file_lines *lines)
{
    lines->end -= lines->start;
    memmove(lines->window, lines->window + lines->start, lines->end);
    lines->start = 0;
    ssize_t got = read(lines->fd, lines->window + lines->end, lines->size - 1 - lines->end);
    if (got > 0)
        lines->end += (size_t)got;
    else if (got == 0 || errno != EINTR)
        lines->ended = true;
}

char *file_lines_next(struct file_lines *lines)
{
    while (lines->fd >= 0) {
        char *line = lines->window + lines->start;
        size_t length = lines->end - lines->start;
        char *newline = memchr(line, '\n', length);
        bool full = lines->start == 0 && lines->end == lines->size - 1;
        if (newline == NULL && !lines->ended && !full) {
            read_more(lines);
            continue;
        }
        if (newline == NULL && length == 0)
            break;
        bool skip = lines->skipping;
        size_t taken = newline != NULL ? (size_t)(newline - line) : length;
        lines->skipping = newline == NULL && !lines->ended;
        line[taken] = '\0';
        lines->start += newline != NULL ? taken + 1 : taken;
        if (!skip)
            return line;
    }
    file_lines_close(lines);
    return NULL;
}

/* One record of getdents64(2). By the system call itself, because opendir brings an allocator. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length_bytes;
    uint8_t type;
    char name[];
};

void file_names(const char *directory, bool (*each)(const char *name, void *context),
                void *context)
{
    _Alignas(struct entry) char window[2048];
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    bool more = fd >= 0;
    while (more) {
        long length = syscall(SYS_getdents64, fd, window, sizeof window);
        more = length > 0;
        for (long at = 0; more && at < length;) {
            const struct entry *entry = (const void *)(window + at);
            at += entry->length_bytes;
            if (!text_equal(entry->name, ".") && !text_equal(entry->name, ".."))
                more = each(entry->name, context);
        }
    }
    if (fd >= 0)
        close(fd);
}

bool file_real_path(const char *path, char *out, size_t size)
{
    char digits[TEXT_U64_BYTES], link[64];
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return false;
    text_join(link, sizeof link, "/proc/self/fd/", text_from_u64((uint64_t)fd, digits), NULL);
    ssize_t length = readlink(link, out, size - 1);
    int happened = errno;
    close(fd);
    errno = happened;
    if (length <= 0)
        return false;
    out[length] = '\0';
    return true;
}
