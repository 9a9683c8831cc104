/* What the streams of a trial left behind, as results. */
#include "net_trial.h"
#include "report.h"

void net_report_failure(uint64_t trial, const struct net_wrong *wrong, uint64_t path_mtu_bytes)
{
    struct json *json = report_begin("net_failed");
    json_u64(json, "trial_number", trial);
    failure_put(json, &(struct failure){
                          .error = "net",
                          .tried = wrong->tried,
                          .happened = wrong->happened,
                          .system_error = wrong->system_error,
                          .next = wrong->next,
                      });
    if (path_mtu_bytes != 0)
        json_u64(json, "path_mtu_bytes", path_mtu_bytes);
    report_end();
}

static void put_quantiles(struct json *json, const char *key, const struct histogram *histogram)
{
    static const unsigned permille[] = {500, 900, 990, 999};
    static const char *const names[] = {"p50_ns", "p90_ns", "p99_ns", "p999_ns"};
    if (histogram->count == 0)
        return;
    json_open_object(json, key);
    json_u64(json, "count", histogram->count);
    json_u64(json, "sum_ns", histogram->sum_ns);
    json_u64(json, "least_ns", histogram->least_ns);
    json_u64(json, "most_ns", histogram->most_ns);
    for (size_t i = 0; i < sizeof permille / sizeof *permille; i++)
        json_u64(json, names[i], histogram_quantile(histogram, permille[i]));
    /* Pairs: the longest time of a step, and how many were in it. */
    json_open_array(json, "steps");
    uint64_t omitted = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        if (histogram->buckets[bucket] == 0)
            continue;
        struct json_mark mark = json_mark(json);
        json_open_array(json, NULL);
        json_u64(json, NULL, histogram_step_end(bucket));
        json_u64(json, NULL, histogram->buckets[bucket]);
        json_close_array(json);
        omitted += !json_keep(json, mark);
    }
    json_close_list(json, "steps", omitted);
    json_close_object(json);
}

static void put_tcp(struct json *json, const struct net_stream *stream)
{
    const struct net_slot *slot = stream->slot;
    const struct net_tcp_info *info = &slot->tcp;
    json_text(json, "congestion", slot->congestion);
    if (slot->tcp_bytes == 0)
        return;
#define PUT(key, field)                                                                             \
    if (NET_TCP_KNOWS(slot->tcp_bytes, field))                                                      \
    json_u64(json, key, info->field)
    PUT("send_mss_bytes", send_mss);
    PUT("path_mtu_bytes", path_mtu);
    PUT("rtt_us", rtt_us);
    PUT("rtt_variation_us", rtt_variation_us);
    PUT("least_rtt_us", least_rtt_us);
    PUT("cwnd_packets", cwnd_packets);
    PUT("retransmits_count", retransmits);
    PUT("sent_segments_count", sent_segments);
    PUT("received_segments_count", received_segments);
    PUT("acked_bytes", acked_bytes);
    if (NET_TCP_KNOWS(slot->tcp_bytes, acked_bytes))
        json_u64(json, "counted_acked_bytes", slot->end_acked_bytes - slot->lead_acked_bytes);
    PUT("unsent_bytes", unsent_bytes);
    PUT("retransmitted_bytes", retransmitted_bytes);
    PUT("delivery_bytes_per_second", delivery_bytes_per_second);
    json_bool(json, "ecn_negotiated", (info->options & NET_TCP_OPTION_ECN) != 0);
    PUT("delivered_count", delivered_packets);
    PUT("ecn_marked_count", delivered_ce_packets);
    PUT("busy_us", busy_us);
    PUT("window_limited_us", window_limited_us);
    PUT("buffer_limited_us", buffer_limited_us);
#undef PUT
}

static void put_call(struct json *json, enum net_call call)
{
    static const char *const names[] = {"one", "mmsg", "gso"};
    json_text(json, "call", names[call]);
}

static void put_datagrams_sent(struct json *json, const struct net_slot *slot)
{
    put_call(json, slot->call);
    json_u64(json, "refused_count", slot->refused);
    json_u64(json, "unreachable_count", slot->unreachable);
    json_u64(json, "late_count", slot->late_wakeups);
    json_u64(json, "late_most_ns", slot->late_most_ns);
    json_u64(json, "shifted_ns", slot->shifted_ns);
    put_quantiles(json, "gap", &slot->times);
    put_quantiles(json, "lateness", &slot->more_times);
}

static void put_datagrams_received(struct json *json, const struct net_slot *slot)
{
    put_call(json, slot->call);
    json_u64(json, "received_count", slot->order.received);
    json_u64(json, "lost_count", net_order_lost(&slot->order));
    json_u64(json, "duplicate_count", slot->order.duplicates);
    json_u64(json, "reordered_count", slot->order.reordered);
    json_u64(json, "reordered_most_count", slot->order.reordered_most);
    json_u64(json, "too_late_count", slot->order.too_late);
    json_u64(json, "loss_events_count", slot->order.loss_events);
    json_u64(json, "loss_longest_count", slot->order.loss_longest);
    json_u64(json, "foreign_count", slot->foreign);
    if (slot->sent != 0)
        json_u64(json, "sent_count", slot->sent);
    if (slot->drops_known)
        json_u64(json, "socket_dropped_count", slot->socket_drops);
    json_u64(json, "jitter_ns", slot->jitter_ns);
    json_i64(json, "first_transit_ns", slot->first_transit_ns);
    json_i64(json, "least_transit_ns", slot->least_transit_ns);
    put_quantiles(json, "delay", &slot->times);
}

static void put_requests(struct json *json, const struct net_stream *stream)
{
    const struct net_slot *slot = stream->slot;
    switch (stream->settings->job) {
    case NET_REQUEST:
        json_u64(json, "unanswered_count", slot->unanswered);
        json_u64(json, "late_answers_count", slot->late_answers);
        json_u64(json, "wrong_answers_count", slot->wrong_answers);
        json_u64(json, "refused_count", slot->refused);
        put_quantiles(json, "latency", &slot->times);
        break;
    case NET_CONNECT:
        json_u64(json, "unanswered_count", slot->unanswered);
        json_u64(json, "refused_count", slot->refused_connections);
        put_quantiles(json, "latency", &slot->times);
        put_quantiles(json, "answer_latency", &slot->more_times);
        break;
    default:
        json_u64(json, "foreign_count", slot->foreign);
    }
}

static void put_counts(struct json *json, const struct net_slot *slot)
{
    json_u64(json, "started_ns", slot->started_ns);
    json_u64(json, "elapsed_ns", slot->end.at_ns - slot->lead.at_ns);
    json_u64(json, "cpu_ns", slot->end.cpu_ns - slot->lead.cpu_ns);
    json_u64(json, "bytes", slot->end.bytes - slot->lead.bytes);
    json_u64(json, "calls_count", slot->end.calls - slot->lead.calls);
    json_u64(json, "packets_count", slot->end.packets - slot->lead.packets);
    json_u64(json, "total_elapsed_ns", slot->last.at_ns);
    json_u64(json, "total_bytes", slot->last.bytes);
    json_u64(json, "total_packets_count", slot->last.packets);
    json_u64(json, "total_user_ns", slot->user_ns);
    json_u64(json, "total_system_ns", slot->system_ns);
    json_u64(json, "voluntary_switches_count", slot->voluntary_switches);
    json_u64(json, "involuntary_switches_count", slot->involuntary_switches);
}

static void begin(struct json *json, const struct net_stream *stream)
{
    json_u64(json, "trial_number", stream->settings->trial);
    json_u64(json, "stream_number", stream->number);
}

static bool is_tcp_stream(const struct net_settings *settings)
{
    return !settings->udp && settings->job <= NET_BOTH;
}

static void put_times(struct json *json, const struct net_times *times)
{
    json_u64(json, NULL, times->count);
    json_i64(json, NULL, times->least_ns);
    json_i64(json, NULL, times->most_ns);
    json_i64(json, NULL, times->sum_ns);
}

static void put_row(struct json *json, const struct net_stream *stream, size_t row)
{
    const struct net_interval *interval = &stream->intervals[row];
    const struct net_count *count = &interval->count;
    json_u64(json, NULL, count->at_ns);
    json_u64(json, NULL, count->bytes);
    json_u64(json, NULL, count->calls);
    json_u64(json, NULL, count->cpu_ns);
    if (is_tcp_stream(stream->settings)) {
        json_u64(json, NULL, interval->is.tcp.rtt_us);
        json_u64(json, NULL, interval->is.tcp.cwnd_packets);
        json_u64(json, NULL, interval->is.tcp.retransmits);
        json_u64(json, NULL, interval->is.tcp.delivery_bytes_per_second);
    } else {
        json_u64(json, NULL, count->packets);
        json_u64(json, NULL, interval->is.udp.next);
        json_u64(json, NULL, interval->is.udp.lost);
        put_times(json, &interval->is.udp.times);
    }
}

/* Intervals, or segments, of which the columns are the last four. */
static void report_rows(const struct net_stream *stream, bool segments)
{
    static const char *const tcp[] = {"at_ns",        "bytes",
                                      "calls_count",  "cpu_ns",
                                      "rtt_us",       "cwnd_packets",
                                      "retransmits_count", "delivery_bytes_per_second", NULL},
                 *const others[] = {"at_ns",          "bytes",         "calls_count",
                                    "cpu_ns",         "packets_count", "next_number",
                                    "lost_count",     "times_count",   "times_least_ns",
                                    "times_most_ns",  "times_sum_ns",  NULL};
    const struct net_slot *slot = stream->slot;
    const char *const *columns = is_tcp_stream(stream->settings) ? tcp : others;
    size_t count = segments ? slot->segment_count : slot->interval_count;
    for (size_t row = 0; row < count;) {
        struct json *json = report_begin(segments ? "net_segments" : "net_intervals");
        size_t first = row;
        begin(json, stream);
        json_open_array(json, "columns");
        for (const char *const *column = segments ? others + 7 : columns; *column != NULL; column++)
            json_text(json, NULL, *column);
        json_close_array(json);
        json_open_array(json, "rows");
        for (bool fits = true; fits && row < count; row += fits) {
            struct json_mark mark = json_mark(json);
            json_open_array(json, NULL);
            if (segments)
                put_times(json, &stream->segments[row]);
            else
                put_row(json, stream, row);
            json_close_array(json);
            fits = json_keep(json, mark);
        }
        json_close_array(json);
        report_end();
        if (row == first)
            return; /* a row is far shorter than a frame */
    }
}

void net_report_stream(const struct net_stream *stream)
{
    static const char *const outcomes[] = {"killed", "done", "peer_ended", "failed"};
    const struct net_settings *settings = stream->settings;
    const struct net_slot *slot = stream->slot;
    struct json *json = report_begin("net_stream");
    begin(json, stream);
    json_text(json, "direction", stream->sends ? "send" : "receive");
    json_text(json, "outcome", outcomes[slot->outcome]);
    if (slot->outcome == NET_FAILED)
        failure_put(json, &(struct failure){.error = "net",
                                            .tried = slot->tried,
                                            .system_error = slot->system_error});
    put_counts(json, slot);
    json_bool(json, "timed_out", slot->timed_out);
    json_bool(json, "realtime", slot->realtime);
    if (slot->local_port != 0) {
        json_u64(json, "local_port_number", slot->local_port);
        if (slot->peer_port != 0)
            json_u64(json, "peer_port_number", slot->peer_port);
        json_u64(json, "send_buffer_bytes", slot->send_buffer_bytes);
        json_u64(json, "receive_buffer_bytes", slot->receive_buffer_bytes);
    }
    if (is_tcp_stream(settings))
        put_tcp(json, stream);
    else if (settings->job > NET_BOTH)
        put_requests(json, stream);
    else if (stream->sends)
        put_datagrams_sent(json, slot);
    else
        put_datagrams_received(json, slot);
    report_end();
    report_rows(stream, false);
    report_rows(stream, true);
}
