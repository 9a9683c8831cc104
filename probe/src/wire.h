/* Frames in and out, and the one place where the probe waits: for the driver, for its own children,
 * for time, for a signal. */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

struct wire_reader {
    int fd;
    uint8_t *buffer;
    size_t capacity_bytes; /* of the buffer: the longest body is FRAME_HEADER_BYTES shorter */
    size_t length_bytes;
    size_t taken_bytes; /* of the frame handed out last */
    bool ended;
};

struct wire {
    struct wire_reader driver; /* standard input */
    int out;                   /* standard output */
    uint64_t deadline_ns;      /* no wait, also not for a full pipe, lasts beyond it */
};

enum wire_event {
    WIRE_DRIVER,  /* a frame from the driver */
    WIRE_CHILD,   /* a frame from the child */
    WIRE_CHILD_ENDED,
    WIRE_TIME,    /* `until_ns` or the deadline has come */
    WIRE_GONE,    /* the driver closed its side, or a signal asks to end */
    WIRE_REFUSED, /* what the driver sent is no frame: `status` says why */
};

struct wire_message {
    struct frame frame; /* valid until the next wait */
    enum frame_status status;
    uint8_t version; /* that the refused frame claims */
};

/* SIGTERM, SIGINT and SIGHUP are noticed in wire_wait and wire_send alone. */
void wire_watch_signals(void);
/* For a child: signals work as usual, and it dies with its parent. */
void wire_forget_signals(void);
/* The signal that asked to end, or 0. */
int wire_signal(void);

enum wire_event wire_wait(struct wire *wire, struct wire_reader *child, uint64_t until_ns,
                          struct wire_message *message);

/* False if the other side is gone, or did not take it before the deadline. */
bool wire_send(struct wire *wire, enum frame_type type, const void *body, size_t length_bytes);

#endif
