/* The verb call: one system call again and again, each timed alone, so that the kernel's tracer can
 * be on. After each, a call that fails at once shows what the tracer costs. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "clock.h"
#include "net_settings.h"
#include "net_socket.h"
#include "verb.h"

/* Queues and drivers have done with one call before the next. */
#define PAUSE_NS (20 * CLOCK_MILLISECOND_NS)
#define MOST_CALLS 1000u
#define LONGEST_DATAGRAM 65507u
/* Where nobody listens. */
#define DISCARD_PORT 9
/* Where this program listens to itself: below the ports that kernels give by themselves. */
#define OWN_PORT 29009
/* No file that fsync knows. */
#define NO_FILE 0

enum operation { SENDTO, WRITE, FSYNC, READ, RECEIVE };

static char buffer[LONGEST_DATAGRAM];
static size_t payload;
static struct sockaddr_storage to;
static socklen_t to_length;
static int fd;

static void check(bool done)
{
    if (!done)
        report_failure(&(struct failure){
            .error = "call", .tried = "make a call", .system_error = errno});
}

static void call(enum operation operation)
{
    check((operation == SENDTO  ? sendto(fd, buffer, payload, 0, (struct sockaddr *)&to, to_length)
           : operation == WRITE ? pwrite(fd, buffer, payload, 0)
           : operation == FSYNC ? fsync(fd)
           : operation == READ  ? pread(fd, buffer, payload, 0)
                                : recv(fd, buffer, payload, 0)) >= 0);
}

static void run(const struct request *request)
{
    enum operation operation =
        (enum operation)report_setting(request, "call", SENDTO, RECEIVE, SENDTO);
    uint64_t calls = report_setting(request, "calls_count", 1, MOST_CALLS, 1);
    payload = (size_t)report_setting(request, "payload_bytes", 1, sizeof buffer, 400);
    const char *path = request_text(request, "path");
    bool is_socket = operation == SENDTO || operation == RECEIVE;
    if (is_socket) {
        const char *peer = request_text(request, "peer");
        struct net_address address;
        if (peer == NULL || !net_address_read(peer, &address))
            report_refused(
                &(struct request_error){"peer", "it is no address"});
        to_length =
            net_socket_address(&address, operation == SENDTO ? DISCARD_PORT : OWN_PORT, &to);
        fd = socket(address.family, SOCK_DGRAM, 0);
    } else {
        fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    }
    check(fd >= 0 &&
          (operation != RECEIVE || bind(fd, (struct sockaddr *)&to, to_length) == 0));
    struct json *json = report_begin("call");
    json_open_array(json, "elapsed_ns");
    while (calls-- > 0) {
        clock_sleep_until(clock_monotonic_ns() + PAUSE_NS);
        /* So that there is something to read, to make stable, or to receive. */
        if (operation != SENDTO)
            call(is_socket ? SENDTO : WRITE);
        uint64_t start = clock_monotonic_ns();
        call(operation);
        uint64_t end = clock_monotonic_ns();
        fsync(NO_FILE);
        uint64_t last = clock_monotonic_ns();
        json_u64(json, NULL, end - start);
        json_u64(json, NULL, last - end);
    }
    json_close_array(json);
    report_end();
    if (!is_socket)
        unlink(path);
}

const struct verb verb_call = {
    .name = "call",
    .keys = (const char *const[]){"call", "payload_bytes", "calls_count", "peer", "path",
                                  "limit_seconds", NULL},
    .limit_seconds = 120,
    .longest_limit_seconds = 3600,
    .run = run,
};
