/* Feeds the decoders of what the driver and other hosts send with a corpus and with mutations of it:
 *   fuzz-decode SECONDS FILE...
 * Built with sanitizers, which end it at the first wrong access. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"
#include "net_order.h"
#include "net_settings.h"
#include "random.h"
#include "request.h"
#include "text.h"

#define MOST_SEEDS 64u
#define MOST_BYTES 8192u

struct seed {
    uint8_t bytes[MOST_BYTES];
    size_t length;
};

static struct seed seeds[MOST_SEEDS];
static size_t seed_count;
static struct seed now; /* what is being tried, to be kept if it is found to be wrong */

static void keep_input(int number)
{
    FILE *file = fopen("fuzz-decode.crash", "wb");
    if (file != NULL) {
        fwrite(now.bytes, 1, now.length, file);
        fclose(file);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void require(int holds)
{
    if (!holds)
        abort();
}

/* A trial of the verb net, as it comes in a frame. */
static void decode_trial(const struct request *request)
{
    static struct net_settings settings;
    struct request_error error;
    if (!net_settings_read(request, &settings, &error)) {
        require(error.on != NULL && error.happened != NULL);
        return;
    }
    require(settings.streams >= 1 && settings.streams <= NET_STREAMS);
    require(settings.batch <= NET_BATCH && settings.interval_ms >= 10);
    require(settings.peer.family == AF_INET || settings.peer.family == AF_INET6);
    require(!settings.iperf3 || strlen(settings.cookie) == NET_COOKIE_BYTES - 1);
    require(memchr(settings.congestion, '\0', sizeof settings.congestion) != NULL);
    require(memchr(settings.peer.interface, '\0', sizeof settings.peer.interface) != NULL);
}

/* What another host sends: greetings, and datagrams one after the other. */
static void decode_datagrams(const struct seed *input)
{
    static const uint8_t token[NET_TOKEN_BYTES] = "0123456789abcdef";
    static struct net_order order;
    uint16_t tag = net_tag(token, 0);
    uint64_t taken = 0, last = 0;
    memset(&order, 0, sizeof order);
    for (size_t at = 0; at < input->length; at += NET_HEADER_BYTES) {
        size_t left = input->length - at;
        uint8_t *exact = malloc(left);
        struct net_header header;
        unsigned stream;
        memcpy(exact, input->bytes + at, left);
        if (left >= 3) { /* the tag is right more often than by chance */
            exact[1] = (uint8_t)(tag >> 8);
            exact[2] = (uint8_t)tag;
        }
        if (net_greeting_read(exact, left, NET_HELLO, token, &stream))
            require(left == NET_GREETING_BYTES && stream <= UINT16_MAX);
        if (net_iperf3_header_read(exact, left, &header))
            require(left >= NET_HEADER_BYTES && header.sequence < NET_SEQUENCES);
        if (net_header_read(exact, left, NET_DATA, tag, &header)) {
            require(header.sequence < NET_SEQUENCES);
            /* Small steps too: most random numbers are absurd. */
            last = header.sequence % 2 != 0 ? (last + header.sequence % 1024) % NET_SEQUENCES
                                            : header.sequence % (4 * NET_WINDOW);
            taken += net_order_take(&order, last) <= NET_REORDERED;
        }
        free(exact);
    }
    require(order.received == taken && order.received <= order.next);
    uint64_t next = order.next;
    net_order_end(&order, next + 3);
    require(order.next == next + 3 && order.loss_longest <= net_order_lost(&order));
    require(order.loss_events <= net_order_lost(&order) && order.loss_events > 0);
}

/* All that the probe does with bytes before it runs a verb. */
static void decode(const struct seed *input)
{
    static const char *const keys[] = {"path", "interval_ms", NULL};
    static struct request request;
    struct request_error error;
    struct frame frame;
    uint64_t value = 7;
    /* Exactly as long as it says, so that a byte too far is seen. */
    uint8_t *bytes = malloc(input->length + 1);
    memcpy(bytes, input->bytes, input->length);
    uint8_t *exact = realloc(bytes, input->length > 0 ? input->length : 1);
    enum frame_status status =
        frame_decode(exact, input->length, OPTION_REQUEST_BYTES, &frame);
    const uint8_t *body = exact;
    size_t length = input->length;
    if (status == FRAME_WHOLE) {
        require(frame.length_bytes <= OPTION_REQUEST_BYTES);
        require(frame.body + frame.length_bytes <= exact + input->length);
        body = frame.body;
        length = frame.length_bytes;
    }
    if (request_parse(&request, body, length, &error)) {
        require(strlen(request.verb) > 0 && request.pair_count <= OPTION_REQUEST_PAIRS);
        request_only(&request, keys, &error);
        if (request_u64(&request, "interval_ms", 10, 3600000, &value, &error))
            require(value == 7 || (value >= 10 && value <= 3600000));
        require(request_text(&request, "no_such_key_at_all_in_here") == NULL);
        decode_trial(&request);
    } else {
        require(error.on != NULL && error.happened != NULL);
    }
    free(exact);
    decode_datagrams(input);
}

static void mutate(struct seed *input, struct random *random)
{
    for (uint64_t changes = 1 + random_below(random, 8); changes > 0; changes--) {
        size_t at = input->length > 0 ? (size_t)random_below(random, input->length) : 0;
        switch (random_below(random, 5)) {
        case 0:
            input->bytes[at] = (uint8_t)random_u64(random);
            break;
        case 1:
            input->bytes[at] ^= (uint8_t)(1u << random_below(random, 8));
            break;
        case 2: /* shorter */
            input->length = at;
            break;
        case 3: /* a part doubled */
            if (input->length + input->length - at <= MOST_BYTES) {
                memmove(input->bytes + input->length, input->bytes + at, input->length - at);
                input->length += input->length - at;
            }
            break;
        default: /* what the decoders look for */
            input->bytes[at] = (uint8_t) "\n=\0PLMSQ0_"[random_below(random, 10)];
            break;
        }
    }
}

int main(int count, char **arguments)
{
    uint64_t seconds;
    if (count < 3 || !text_to_u64(arguments[1], 86400, &seconds)) {
        fputs("usage: fuzz-decode SECONDS FILE...\n", stderr);
        return 2;
    }
    signal(SIGABRT, keep_input);
    for (int i = 2; i < count && seed_count < MOST_SEEDS; i++) {
        FILE *file = fopen(arguments[i], "rb");
        if (file == NULL) {
            perror(arguments[i]);
            return 2;
        }
        seeds[seed_count].length = fread(seeds[seed_count].bytes, 1, MOST_BYTES, file);
        fclose(file);
        now = seeds[seed_count++];
        decode(&now);
    }
    struct random random = {(uint64_t)time(NULL) | 1};
    unsigned long runs = 0;
    for (time_t end = time(NULL) + (time_t)seconds; time(NULL) < end;) {
        for (int i = 0; i < 1000; i++, runs++) {
            now = seeds[random_below(&random, seed_count)];
            mutate(&now, &random);
            decode(&now);
        }
    }
    printf("fuzz-decode: %zu seeds, %lu mutations, nothing wrong\n", seed_count, runs);
    return 0;
}
