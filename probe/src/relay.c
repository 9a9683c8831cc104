/* The verb relay: bytes between the driver and one TCP server, for the control connection of iperf3. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "net_socket.h"
#include "text.h"
#include "verb.h"

#define CONNECT_NS (5 * CLOCK_SECOND_NS)
/* Bytes of a section: with two digits for each, it fits in a result. */
#define PIECE_BYTES 8192u

static const char digits[] = "0123456789abcdef";

/* In a child, since only frames are waited for in the parent. */
static void receive(const void *context)
{
    static uint8_t bytes[PIECE_BYTES];
    static char hex[2 * PIECE_BYTES + 1];
    const int *fd = context;
    for (;;) {
        ssize_t got = recv(*fd, bytes, sizeof bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        size_t count = got > 0 ? (size_t)got : 0;
        for (size_t i = 0; i < count; i++) {
            hex[2 * i] = digits[bytes[i] >> 4];
            hex[2 * i + 1] = digits[bytes[i] & 15];
        }
        hex[2 * count] = '\0';
        struct json *json = report_begin(count > 0 ? "relay_bytes" : "relay_end");
        if (count > 0)
            json_text(json, "hex", hex);
        report_end();
        if (count == 0)
            return;
    }
}

/* The bytes of two digits each; -1 if they are none. */
static ssize_t read_hex(const char *text, uint8_t *bytes, size_t room)
{
    size_t length = strlen(text);
    if (length % 2 != 0 || length / 2 > room)
        return -1;
    for (size_t i = 0; i < length; i++) {
        const char *digit = strchr(digits, text[i]);
        if (digit == NULL)
            return -1;
        bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | (uint8_t)(digit - digits));
    }
    return (ssize_t)(length / 2);
}

/* False if the driver's frame is no order to send. What the server does not take, it will not answer. */
static bool send_on(int fd, const struct frame *frame)
{
    static struct request order;
    static uint8_t bytes[OPTION_REQUEST_BYTES / 2];
    static const char *const keys[] = {"hex", NULL};
    struct request_error error;
    if (!request_parse(&order, frame->body, frame->length_bytes, &error) ||
        !text_equal(order.verb, "send") || !request_only(&order, keys, &error))
        return false;
    const char *hex = request_text(&order, "hex");
    ssize_t count = hex != NULL ? read_hex(hex, bytes, sizeof bytes) : -1;
    if (count > 0)
        net_send_all(fd, bytes, (size_t)count);
    return count >= 0;
}

static int serve_connection(struct wire *wire, int fd, struct wire_reader *reader)
{
    static const char connected[] = "{\"section\":\"relay\"}";
    uint64_t started_ns = clock_monotonic_ns();
    struct wire_message message;
    struct wire_reader *from_child = reader;
    if (!wire_send(wire, FRAME_RESULT, connected, sizeof connected - 1))
        return EXIT_GONE;
    for (;;) {
        switch (wire_wait(wire, from_child, CLOCK_NEVER_NS, &message)) {
        case WIRE_CHILD:
            if (!wire_send(wire, (enum frame_type)message.frame.type, message.frame.body,
                           message.frame.length_bytes))
                return EXIT_GONE;
            break;
        case WIRE_CHILD_ENDED:
            from_child = NULL;
            break;
        case WIRE_DRIVER:
            if (message.frame.type == FRAME_CLOCK && verb_tell_clock(wire, &message.frame))
                break;
            if (message.frame.type == FRAME_TRIAL && send_on(fd, &message.frame))
                break;
            if (message.frame.type == FRAME_STOP)
                return verb_done(wire, "stopped", started_ns);
            message.status = FRAME_NOT_OURS;
            return verb_refuse_frame(wire, &message);
        case WIRE_TIME:
            wire->deadline_ns = clock_monotonic_ns() + CLOCK_SECOND_NS; /* to say so */
            return verb_done(wire, "limit", started_ns);
        case WIRE_REFUSED:
            return verb_refuse_frame(wire, &message);
        case WIRE_GONE:
            return EXIT_GONE;
        }
    }
}

static int serve(struct wire *wire, const struct request *request)
{
    struct net_settings settings = {.nodelay = 1};
    struct request_error error = {"peer", "it must be an IPv4 or IPv6 address"};
    struct wire_reader reader;
    const char *peer = request_text(request, "peer"), *tried;
    bool read = peer != NULL && net_address_read(peer, &settings.peer);
    if (read) {
        error = (struct request_error){"port", "it must be a number from 1 to 65535"};
        read = request_u64(request, "port", 1, 65535, &settings.port, &error) &&
               settings.port != 0;
    }
    if (!read)
        return verb_failed(wire, &(struct failure){.error = "request",
                                                   .tried = "read the request",
                                                   .on = error.on,
                                                   .happened = error.happened,
                                                   .next = "see the probe's README"});
    int fd = net_socket_open(&settings, 0, false, &tried);
    pid_t child = -1;
    if (fd >= 0 && net_connect_within(fd, &settings, clock_monotonic_ns() + CONNECT_NS)) {
        tried = "start a process for the connection";
        child = worker_start(receive, &fd, &reader);
    } else if (fd >= 0) {
        tried = "connect to the server";
    }
    if (child < 0)
        return verb_failed(wire, &(struct failure){
                                     .error = "net", .tried = tried, .system_error = errno});
    int code = serve_connection(wire, fd, &reader);
    worker_kill(child);
    close(reader.fd);
    close(fd);
    return code;
}

const struct verb verb_relay = {
    .name = "relay",
    .keys = (const char *const[]){"peer", "port", "limit_seconds", NULL},
    .limit_seconds = 600,
    .longest_limit_seconds = 86400,
    .serve = serve,
};
