/* The mount that a path lies on. */
#ifndef INVENTORY_MOUNTS_H
#define INVENTORY_MOUNTS_H

#include <stdbool.h>

#include "options.h"

struct inventory_mount {
    char point[OPTION_LINE_BYTES];
    char options[OPTION_LINE_BYTES];
    char type[64];
    char source[OPTION_LINE_BYTES];
    char super_options[OPTION_LINE_BYTES];
};

/* False, and all texts empty, if /proc/self/mountinfo cannot be read. */
bool inventory_find_mount(const char *real_path, struct inventory_mount *mount);

#endif
