#include "net_order.h"

#include <string.h>

/* More lost in a row than this is no loss, but a wrong number. */
#define LONGEST_JUMP (1ull << 24)

static bool is_seen(const struct net_order *order, uint64_t sequence)
{
    return ((unsigned)order->seen[sequence % NET_WINDOW / 8] >> sequence % 8 & 1u) != 0;
}

static void set_seen(struct net_order *order, uint64_t sequence, bool seen)
{
    uint8_t bit = (uint8_t)(1u << sequence % 8);
    uint8_t *byte = &order->seen[sequence % NET_WINDOW / 8];
    *byte = (uint8_t)(seen ? *byte | bit : *byte & ~bit);
}

static void end_run(struct net_order *order)
{
    if (order->run == 0)
        return;
    order->loss_events++;
    if (order->run > order->loss_longest)
        order->loss_longest = order->run;
    order->run = 0;
}

/* What will not change any more. */
static void settle(struct net_order *order, bool seen)
{
    if (seen)
        end_run(order);
    else
        order->run++;
}

/* Sequences up to `next` enter the window, and as many leave it. */
static void advance(struct net_order *order, uint64_t next)
{
    for (uint64_t entered = 0; order->next < next; entered++) {
        if (entered == NET_WINDOW && next - order->next > NET_WINDOW) {
            /* The window is empty by now: a long gap need not go through it. */
            uint64_t gap = next - order->next - NET_WINDOW;
            order->run += gap;
            order->next += gap;
        }
        uint64_t at = order->next++;
        if (at >= NET_WINDOW)
            settle(order, is_seen(order, at));
        set_seen(order, at, false);
    }
}

enum net_arrival net_order_take(struct net_order *order, uint64_t sequence)
{
    if (sequence >= order->next) {
        if (sequence - order->next > LONGEST_JUMP) {
            order->absurd++;
            return NET_ABSURD;
        }
        advance(order, sequence + 1);
        set_seen(order, sequence, true);
        order->received++;
        return NET_NEW;
    }
    uint64_t behind = order->next - 1 - sequence;
    if (behind >= NET_WINDOW) {
        order->too_late++;
        return NET_TOO_LATE;
    }
    if (is_seen(order, sequence)) {
        order->duplicates++;
        return NET_DUPLICATE;
    }
    set_seen(order, sequence, true);
    order->received++;
    order->reordered++;
    if (behind > order->reordered_most)
        order->reordered_most = behind;
    return NET_REORDERED;
}

void net_order_end(struct net_order *order, uint64_t sent)
{
    uint64_t first = order->next > NET_WINDOW ? order->next - NET_WINDOW : 0;
    for (uint64_t at = first; at < order->next; at++)
        settle(order, is_seen(order, at));
    if (sent > order->next) {
        order->run += sent - order->next;
        order->next = sent;
    }
    end_run(order);
}

uint64_t net_order_lost(const struct net_order *order) { return order->next - order->received; }
