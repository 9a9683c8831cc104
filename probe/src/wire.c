#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

/* A pipe that is ready for writing takes this much without making us wait (POSIX's PIPE_BUF). */
#define PIECE_BYTES 4096u

static volatile sig_atomic_t signal_seen;
static sigset_t signals_outside; /* the mask while waiting */

static void note_signal(int number) { signal_seen = number; }

static void each_signal(void (*handler)(int))
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = handler};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

void wire_watch_signals(void)
{
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGTERM);
    sigaddset(&block, SIGINT);
    sigaddset(&block, SIGHUP);
    sigprocmask(SIG_BLOCK, &block, &signals_outside);
    /* The starter may have left them blocked, and then nothing would end the probe. */
    sigdelset(&signals_outside, SIGTERM);
    sigdelset(&signals_outside, SIGINT);
    sigdelset(&signals_outside, SIGHUP);
    each_signal(note_signal);
    signal(SIGPIPE, SIG_IGN);
}

void wire_forget_signals(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    each_signal(SIG_DFL);
    sigprocmask(SIG_SETMASK, &signals_outside, NULL);
}

int wire_signal(void) { return signal_seen; }

/* Polls until `until_ns`. False at that time; a signal counts as something that happened. */
static bool poll_until(struct pollfd *files, nfds_t count, uint64_t until_ns)
{
    for (;;) {
        struct timespec left = {0};
        if (until_ns != CLOCK_NEVER_NS) {
            uint64_t now = clock_monotonic_ns();
            uint64_t left_ns = until_ns > now ? until_ns - now : 0;
            left.tv_sec = (time_t)(left_ns / CLOCK_SECOND_NS);
            left.tv_nsec = (long)(left_ns % CLOCK_SECOND_NS);
        }
        int ready = ppoll(files, count, until_ns == CLOCK_NEVER_NS ? NULL : &left,
                          &signals_outside);
        if (ready > 0 || signal_seen != 0)
            return true;
        if (ready == 0)
            return false;
        if (errno != EINTR)
            return true; /* the reads and writes that follow will say what is wrong */
    }
}

/* Drops the frame handed out last. */
static void forget_taken(struct wire_reader *reader)
{
    if (reader->taken_bytes == 0)
        return;
    reader->length_bytes -= reader->taken_bytes;
    memmove(reader->buffer, reader->buffer + reader->taken_bytes, reader->length_bytes);
    reader->taken_bytes = 0;
}

static enum frame_status next_frame(struct wire_reader *reader, struct frame *frame)
{
    forget_taken(reader);
    enum frame_status status = frame_decode(reader->buffer, reader->length_bytes,
                                            reader->capacity_bytes - FRAME_HEADER_BYTES, frame);
    if (status == FRAME_WHOLE)
        reader->taken_bytes = FRAME_HEADER_BYTES + frame->length_bytes;
    return status;
}

static void fill(struct wire_reader *reader)
{
    ssize_t got = read(reader->fd, reader->buffer + reader->length_bytes,
                       reader->capacity_bytes - reader->length_bytes);
    if (got > 0)
        reader->length_bytes += (size_t)got;
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
        reader->ended = true;
}

enum wire_event wire_wait(struct wire *wire, struct wire_reader *child, uint64_t until_ns,
                          struct wire_message *message)
{
    if (until_ns > wire->deadline_ns)
        until_ns = wire->deadline_ns;
    for (;;) {
        if (signal_seen != 0 || wire->driver.ended)
            return WIRE_GONE;
        message->status = next_frame(&wire->driver, &message->frame);
        if (message->status == FRAME_WHOLE)
            return WIRE_DRIVER;
        if (message->status != FRAME_INCOMPLETE) {
            if (message->status == FRAME_OTHER_VERSION)
                message->version = frame_claimed_version(wire->driver.buffer);
            return WIRE_REFUSED;
        }
        if (child != NULL) {
            enum frame_status status = next_frame(child, &message->frame);
            if (status == FRAME_WHOLE)
                return WIRE_CHILD;
            if (status != FRAME_INCOMPLETE || child->ended)
                return WIRE_CHILD_ENDED;
        }
        struct pollfd files[2] = {
            {.fd = wire->driver.fd, .events = POLLIN},
            {.fd = child != NULL ? child->fd : -1, .events = POLLIN},
        };
        if (!poll_until(files, child != NULL ? 2 : 1, until_ns))
            return WIRE_TIME;
        if (signal_seen != 0)
            return WIRE_GONE;
        if (files[0].revents != 0)
            fill(&wire->driver);
        if (child != NULL && files[1].revents != 0)
            fill(child);
    }
}

static bool send_bytes(struct wire *wire, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        /* No events are asked of the input: a hang-up is reported unasked, and requests can wait. */
        struct pollfd files[2] = {
            {.fd = wire->out, .events = POLLOUT},
            {.fd = wire->driver.fd, .events = 0},
        };
        if (!poll_until(files, 2, wire->deadline_ns) || signal_seen != 0 || files[1].revents != 0)
            return false;
        ssize_t put = write(wire->out, bytes, length < PIECE_BYTES ? length : PIECE_BYTES);
        if (put < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (put > 0) {
            bytes += put;
            length -= (size_t)put;
        }
    }
    return true;
}

bool wire_send(struct wire *wire, enum frame_type type, const void *body, size_t length_bytes)
{
    uint8_t header[FRAME_HEADER_BYTES];
    frame_header(header, type, length_bytes);
    return send_bytes(wire, header, sizeof header) && send_bytes(wire, body, length_bytes);
}
