/* Sequence numbers as they arrive: loss, reordering, duplicates. Exact as long as a datagram is less
 * than NET_WINDOW behind the highest one. No input or output. */
#ifndef NET_ORDER_H
#define NET_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define NET_WINDOW 65536u

struct net_order {
    uint64_t next;       /* the highest sequence so far, plus 1 */
    uint64_t received;   /* different datagrams */
    uint64_t duplicates;
    uint64_t reordered;  /* arrived after one that was sent later (RFC 4737) */
    uint64_t reordered_most; /* greatest distance to the highest one */
    uint64_t too_late;   /* behind the window: counted as lost */
    uint64_t absurd;     /* so far ahead that it is none of the sender's */
    /* Settled when a datagram leaves the window, or by net_order_end. */
    uint64_t loss_events;  /* runs of consecutive lost datagrams */
    uint64_t loss_longest; /* datagrams in the longest run */
    uint64_t run;          /* of the run that is open */
    uint8_t seen[NET_WINDOW / 8];
};

enum net_arrival { NET_NEW, NET_REORDERED, NET_DUPLICATE, NET_TOO_LATE, NET_ABSURD };

enum net_arrival net_order_take(struct net_order *order, uint64_t sequence);
/* No more arrive. `sent` is what the sender says it sent, 0 if unknown. */
void net_order_end(struct net_order *order, uint64_t sent);
/* Lost among the `next` first. */
uint64_t net_order_lost(const struct net_order *order);

#endif
