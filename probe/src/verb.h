/* The verbs. Each is a function that reports results and returns; worker.c runs it in a child, so
 * that the parent can end it at any moment, whatever it hangs in. */
#ifndef VERB_H
#define VERB_H

#include <stdint.h>
#include <sys/types.h>

#include "report.h"
#include "request.h"
#include "wire.h"

struct verb {
    const char *name;
    const char *const *keys;        /* of the request, a NULL ends them */
    uint64_t limit_seconds;         /* run time unless the driver says another */
    uint64_t longest_limit_seconds; /* that the driver may say */
    /* In the parent, before; may be NULL. Returns NULL or what is wrong. */
    const char *(*prepare)(const struct request *request);
    /* In a child. */
    void (*run)(const struct request *request);
    /* In the parent when the child has ended, however; may be NULL. */
    void (*cleanup)(void);
    /* Instead of `run`: in the parent itself. Returns the probe's exit code. */
    int (*serve)(struct wire *wire, const struct request *request);
};

/* The verbs by their names: `verb_NAME` is in the file of that name. */
#define VERBS(each) \
    each(inventory) \
    each(sample) \
    each(cpu) \
    each(clock_call) \
    each(call) \
    each(memory) \
    each(crypto) \
    each(disk) \
    each(net) \
    each(relay) \
    each(selftest)

#define VERB_DECLARED(name) extern const struct verb verb_##name;
VERBS(VERB_DECLARED)
#undef VERB_DECLARED

/* Exit codes of the probe. */
enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1, /* an error frame was sent */
    EXIT_USAGE = 2,  /* command line */
    EXIT_GONE = 3,   /* the driver closed its side, or a signal came */
};

/* Sends the frame that ends a session. `status` is done, stopped (by the driver) or limit (of run
 * time). Returns the exit code. */
int verb_done(struct wire *wire, const char *status, uint64_t started_ns);
/* Most memory that this process has had in use; 0 if the kernel does not tell. */
uint64_t verb_peak_resident_bytes(void);
int verb_failed(struct wire *wire, const struct failure *failure);
/* Answers a clock frame: the driver's token, then the time. */
bool verb_tell_clock(struct wire *wire, const struct frame *question);
/* What the driver sent is no frame. */
int verb_refuse_frame(struct wire *wire, const struct wire_message *message);

/* Processor time of this process, or of those that it has waited for. */
uint64_t verb_cpu_ns(int who);

/* Starts a process that runs a function and ends; `reader` gets its frames. -1 with errno. */
pid_t worker_start(void (*run)(const void *), const void *context, struct wire_reader *reader);
/* The status of waitpid, -1 if the child did not end in time. */
int worker_reap(pid_t child, uint64_t within_ns);
void worker_kill(pid_t child);
/* Runs a verb in a child and passes on what it reports. Returns the exit code. */
int worker_run(struct wire *wire, const struct verb *verb, const struct request *request);

#endif
