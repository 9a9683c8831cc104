/* Segments of a stream of datagrams: what became of those with consecutive sequence numbers. */
#include "net_stream.h"

void net_times_add(struct net_times *times, int64_t ns)
{
    if (times->count == 0 || ns < times->least_ns)
        times->least_ns = ns;
    if (times->count == 0 || ns > times->most_ns)
        times->most_ns = ns;
    times->count++;
    times->sum_ns += ns;
}

void net_segment_take(struct net_stream *stream, uint64_t sequence, int64_t ns)
{
    /* 30 bits, as the setting has. */
    uint32_t packets = (uint32_t)stream->settings->segment_packets;
    if (packets == 0 || sequence >> 32 != 0)
        return;
    uint32_t at = (uint32_t)sequence / packets;
    if (at >= stream->segment_room)
        return;
    if (at >= stream->slot->segment_count)
        stream->slot->segment_count = at + 1;
    struct net_times *times = &stream->segments[at];
    net_times_add(times, ns);
    if (times->count != packets)
        return;
    bool late = times->most_ns > (int64_t)stream->settings->late_us * 1000;
    if (stream->after_lead && !late && !stream->after_late)
        stream->good_segments++;
    stream->after_late = late;
    stream->after_lead = stream->slot->led;
}

size_t net_payload(const struct net_settings *settings, uint64_t sequence)
{
    /* 5 and 12 have no common factor: the sizes alternate. */
    unsigned at = (unsigned)(sequence % 12) * 5 % 12;
    return (size_t)(settings->small_bytes == 0 || at == 11 ? settings->payload_bytes
                    : at < 7                              ? settings->small_bytes
                                                          : settings->middle_bytes);
}
