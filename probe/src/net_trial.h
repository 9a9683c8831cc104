/* A trial of the verb net, in a process of its own below the session's, with one more for each stream.
 */
#ifndef NET_TRIAL_H
#define NET_TRIAL_H

#include <sys/types.h>

#include "net_socket.h"
#include "net_stream.h"

/* For worker_start: `context` is a struct net_settings. */
void net_trial_run(const void *context);

/* Reports of a trial. */
void net_report_failure(uint64_t trial, const struct net_wrong *wrong, uint64_t path_mtu_bytes);
void net_report_stream(const struct net_stream *stream);

#endif
