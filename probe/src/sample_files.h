/* The files that a sample is made of. */
#ifndef SAMPLE_FILES_H
#define SAMPLE_FILES_H

#include <stddef.h>

#include "options.h"

/* Numbers of the sections, part of the protocol. */
enum sample_section {
    SAMPLE_STAT = 1,     /* /proc/stat */
    SAMPLE_MEMINFO,      /* /proc/meminfo */
    SAMPLE_DISKSTATS,    /* /proc/diskstats */
    SAMPLE_NET_DEV,      /* /proc/net/dev */
    SAMPLE_NET_SNMP,     /* /proc/net/snmp */
    SAMPLE_SOFTIRQS,     /* /proc/softirqs */
    SAMPLE_LOADAVG,      /* /proc/loadavg */
    SAMPLE_NFSD,         /* /proc/net/rpc/nfsd */
    SAMPLE_CLOCK,        /* one policy's frequency, in kHz */
    SAMPLE_TEMPERATURE,  /* one sensor, in millidegrees Celsius */
    SAMPLE_SCHEDULER,    /* /proc/schedstat, or the root's cpuacct.usage */
    SAMPLE_MDSTAT,       /* /proc/mdstat */
    SAMPLE_GROUP_QUOTA,  /* cpu.max or cpu.cfs_quota_us of the probe's own control group */
    SAMPLE_GROUP_PERIOD, /* its cpu.cfs_period_us */
    SAMPLE_GROUP_STAT,   /* its cpu.stat */
    SAMPLE_GROUP_USAGE,  /* its cpuacct.usage */
    SAMPLE_PRESSURE,     /* /proc/pressure/memory */
    SAMPLE_SOFTNET,      /* /proc/net/softnet_stat */
};

/* Those of /proc, then those of the control group in both versions, then clocks, then temperatures. */
#define SAMPLE_FILES (13u + 6u + OPTION_SAMPLE_CLOCKS + OPTION_SAMPLE_TEMPERATURES)

struct sample_file {
    enum sample_section id;
    int fd;
    char name[80]; /* for the driver: the path */
};

/* Opens those that are there; returns how many. */
size_t sample_files_open(struct sample_file files[SAMPLE_FILES]);
/* Reads one from its start: the bytes, at most size - 1, and a terminator; -1 if that failed. */
long sample_file_read(const struct sample_file *file, char *out, size_t size);

#endif
