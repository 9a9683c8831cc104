#include "net_settings.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "text.h"

/* Kinds of trials that a key belongs to. */
enum { TCP = 1, UDP = 2, PINGS = 4, CONNECTS = 8, ALL = 15 };

static const struct number {
    const char *key;
    size_t at;
    uint64_t least, most, otherwise;
    unsigned kinds;
} numbers[] = {
#define NUMBER(key, least, most, otherwise, kinds)                                                  \
    {#key, offsetof(struct net_settings, key), least, most, otherwise, kinds}
    NUMBER(trial, 0, UINT32_MAX, 0, ALL),
    NUMBER(port, 0, 65535, 0, ALL),
    NUMBER(streams, 1, NET_STREAMS, 1, ALL),
    NUMBER(duration_ms, 1, 3660000, 10000, ALL),
    NUMBER(lead_ms, 0, 60000, 0, ALL),
    NUMBER(interval_ms, 10, 60000, 100, ALL),
    NUMBER(setup_ms, 100, 60000, 5000, ALL),
    NUMBER(drain_ms, 0, 60000, 1000, ALL),
    NUMBER(send_buffer_bytes, 1024, 1u << 30, 0, ALL),
    NUMBER(receive_buffer_bytes, 1024, 1u << 30, 0, ALL),
    NUMBER(block_bytes, 1, 4u << 20, 128u << 10, TCP),
    NUMBER(bytes, 1, 1ull << 50, 0, TCP),
    NUMBER(nodelay, 0, 1, 0, TCP | PINGS),
    NUMBER(payload_bytes, NET_HEADER_BYTES, 65507, 1400, UDP),
    NUMBER(middle_bytes, NET_HEADER_BYTES, 65507, 0, UDP),
    NUMBER(small_bytes, NET_HEADER_BYTES, 65507, 0, UDP),
    NUMBER(packets_per_second, 1, 100000000, 0, UDP),
    NUMBER(packets, 1, NET_SEQUENCES - 1, 0, UDP),
    NUMBER(batch, 1, NET_BATCH, 32, UDP),
    NUMBER(pace_us, 50, 100000, 500, UDP),
    NUMBER(fragment, 0, 1, 0, UDP | PINGS),
    NUMBER(flows, 1, NET_SOCKETS, 1, UDP),
    NUMBER(segment_packets, 1, 1u << 30, 0, UDP),
    NUMBER(good_segments, 1, OPTION_NET_INTERVALS, 0, UDP),
    NUMBER(late_us, 1, 1000000, 200, UDP),
    NUMBER(request_bytes, 1, 1u << 20, 0, PINGS),
    NUMBER(response_bytes, 1, 1u << 20, 0, PINGS),
    NUMBER(requests_per_second, 1, 100000, 0, PINGS | CONNECTS),
    NUMBER(timeout_ms, 10, 60000, 1000, PINGS | CONNECTS),
    NUMBER(realtime, 0, 1, 0, UDP | PINGS | CONNECTS),
#undef NUMBER
};
#define NUMBERS (sizeof numbers / sizeof *numbers)

/* Keys whose values are words. */
static const char *const words[] = {"open",   "transport", "peer",       "translated", "token",
                                    "cookie", "header",    "congestion", "call",       NULL};

static const char *const jobs[] = {"send",    "receive", "both",  "request",
                                   "respond", "connect", "accept"};

static bool refuse(struct request_error *error, const char *on, const char *happened)
{
    *error = (struct request_error){on, happened};
    return false;
}

/* The place of `text` among the words; `count` if it is none of them. */
static size_t choose(const char *text, const char *const *choices, size_t count)
{
    size_t i = 0;
    while (i < count && !text_equal(choices[i], text))
        i++;
    return i;
}

bool net_address_read(const char *text, struct net_address *address)
{
    char plain[INET6_ADDRSTRLEN];
    *address = (struct net_address){0};
    if (strlen(text) >= sizeof plain + sizeof address->interface)
        return false;
    const char *percent = strchr(text, '%');
    size_t length = percent != NULL ? (size_t)(percent - text) : strlen(text);
    if (length >= sizeof plain)
        return false;
    memcpy(plain, text, length);
    plain[length] = '\0';
    address->family = strchr(plain, ':') != NULL ? AF_INET6 : AF_INET;
    if (percent != NULL) {
        if (address->family == AF_INET || percent[1] == '\0' ||
            strlen(percent + 1) >= sizeof address->interface)
            return false;
        text_copy(address->interface, sizeof address->interface, percent + 1);
    }
    return inet_pton(address->family, plain, address->bytes) == 1;
}

static bool read_token(const char *text, uint8_t token[NET_TOKEN_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    if (text == NULL || strlen(text) != (size_t)NET_TOKEN_BYTES * 2)
        return false;
    for (size_t i = 0; text[i] != '\0'; i++) {
        const char *digit = strchr(digits, text[i]);
        if (digit == NULL)
            return false;
        token[i / 2] = (uint8_t)(token[i / 2] << 4 | (uint8_t)(digit - digits));
    }
    return true;
}

/* An iperf3 server at the other end has a cookie for the token, and a header of its own. */
static bool read_iperf3(const struct request *request, struct net_settings *settings,
                        struct request_error *error)
{
    const char *cookie = request_text(request, "cookie"), *header = request_text(request, "header");
    settings->iperf3 = cookie != NULL;
    if (header != NULL ? !settings->udp || !settings->iperf3 || !text_equal(header, "iperf3")
                       : settings->udp && settings->iperf3)
        return refuse(error, "header", "it must be iperf3, of a UDP stream with a cookie");
    if (cookie == NULL)
        return true;
    if (settings->listens || settings->job > NET_BOTH)
        return refuse(error, "cookie", "only streams are opened with it, and from here");
    if (request_text(request, "token") != NULL)
        return refuse(error, "token", "a stream with a cookie has none");
    size_t letters = 0;
    while ((cookie[letters] >= 'a' && cookie[letters] <= 'z') ||
           (cookie[letters] >= '0' && cookie[letters] <= '9'))
        letters++;
    if (cookie[letters] != '\0' || letters != sizeof settings->cookie - 1)
        return refuse(error, "cookie", "it must be 36 digits and letters from a to z");
    text_copy(settings->cookie, sizeof settings->cookie, cookie);
    return true;
}

static bool read_words(const struct request *request, struct net_settings *settings,
                       struct request_error *error)
{
    static const char *const opens[] = {"connect", "listen"}, *const transports[] = {"tcp", "udp"},
                 *const calls[] = {"one", "mmsg", "gso"};
    size_t job = choose(request->verb, jobs, sizeof jobs / sizeof *jobs);
    if (job == sizeof jobs / sizeof *jobs)
        return refuse(error, request->verb, "no trial has this name");
    settings->job = (enum net_job)job;

    const char *text = request_text(request, "open");
    size_t open = text != NULL ? choose(text, opens, 2) : 2;
    if (open == 2)
        return refuse(error, "open", "it must be connect or listen");
    settings->listens = open == 1;
    if ((settings->job == NET_CONNECT && open == 1) || (settings->job == NET_ACCEPT && open == 0))
        return refuse(error, "open", "this trial cannot be opened from that end");

    text = request_text(request, "transport");
    size_t transport = text != NULL ? choose(text, transports, 2) : 0;
    if (transport == 2)
        return refuse(error, "transport", "it must be tcp or udp");
    settings->udp = transport == 1;
    if (settings->udp && settings->job >= NET_CONNECT)
        return refuse(error, "transport", "only TCP has connections");

    text = request_text(request, "peer");
    if (text == NULL || !net_address_read(text, &settings->peer))
        return refuse(error, "peer", "it must be an IPv4 or IPv6 address");
    text = request_text(request, "translated");
    if (text != NULL && (!settings->listens || !net_address_read(text, &settings->translated) ||
                         settings->translated.family != settings->peer.family))
        return refuse(error, "translated", "it must be an address of the peer's family, to listen for");
    if (!read_iperf3(request, settings, error))
        return false;
    if (!settings->iperf3 && !read_token(request_text(request, "token"), settings->token))
        return refuse(error, "token", "it must be 32 digits from 0 to 9 and a to f");

    text = request_text(request, "congestion");
    if (text != NULL) {
        if (settings->udp || *text == '\0' || strlen(text) >= sizeof settings->congestion)
            return refuse(error, "congestion", "it must be the name of an algorithm of TCP");
        text_copy(settings->congestion, sizeof settings->congestion, text);
    }
    text = request_text(request, "call");
    size_t call = text != NULL ? choose(text, calls, 3) : NET_CALL_ONE;
    if (call == 3 || (text != NULL && (!settings->udp || settings->job > NET_BOTH)))
        return refuse(error, "call", "it must be one, mmsg or gso, of a UDP stream");
    settings->call = (enum net_call)call;
    return true;
}

static bool read_numbers(const struct request *request, struct net_settings *settings,
                         struct request_error *error)
{
    unsigned kind = settings->job >= NET_CONNECT ? CONNECTS
                    : settings->job > NET_BOTH   ? PINGS
                    : settings->udp              ? UDP
                                                 : TCP;
    for (size_t i = 0; i < NUMBERS; i++) {
        const struct number *number = &numbers[i];
        uint64_t value = number->otherwise;
        if (request_text(request, number->key) != NULL && (number->kinds & kind) == 0)
            return refuse(error, number->key, "this trial has no such key");
        if (!request_u64(request, number->key, number->least, number->most, &value, error))
            return false;
        memcpy((char *)settings + number->at, &value, sizeof value);
    }
    return true;
}

bool net_settings_read(const struct request *request, struct net_settings *settings,
                       struct request_error *error)
{
    const char *known[NUMBERS + sizeof words / sizeof *words];
    for (size_t i = 0; i < NUMBERS; i++)
        known[i] = numbers[i].key;
    memcpy(known + NUMBERS, words, sizeof words);
    *settings = (struct net_settings){0};
    if (!request_only(request, known, error) || !read_words(request, settings, error) ||
        !read_numbers(request, settings, error))
        return false;

    uint64_t least = settings->udp ? NET_HEADER_BYTES : 1, most = settings->udp ? 65507 : 1u << 20;
    settings->request_bytes = settings->request_bytes != 0 ? settings->request_bytes : least;
    settings->response_bytes = settings->response_bytes != 0 ? settings->response_bytes : least;
    if (settings->request_bytes < least || settings->request_bytes > most)
        return refuse(error, "request_bytes", "a datagram has 16 to 65507 bytes");
    if (settings->response_bytes < least || settings->response_bytes > most)
        return refuse(error, "response_bytes", "a datagram has 16 to 65507 bytes");
    if (!settings->listens && settings->port == 0)
        return refuse(error, "port", "the end that connects needs the port of the other");
    if (settings->realtime != 0 && settings->packets_per_second + settings->requests_per_second == 0)
        return refuse(error, "realtime", "only a trial with a rate can have it");
    if (settings->middle_bytes > settings->payload_bytes ||
        settings->small_bytes > settings->middle_bytes)
        return refuse(error, "middle_bytes", "the sizes must ascend");
    if (settings->streams * settings->flows > NET_SOCKETS)
        return refuse(error, "flows", "they are too many");
    if ((settings->lead_ms + settings->duration_ms) / settings->interval_ms > OPTION_NET_INTERVALS)
        return refuse(error, "interval_ms", "the trial would have too many intervals");
    return true;
}
