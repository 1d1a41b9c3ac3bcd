#include "reckoner.h"

#include <string.h>

static size_t find(const struct variables *variables, const char *name) {
    size_t i = 0;
    while (i < variables->count && strcmp(variables->entries[i].name, name) != 0)
        i++;
    return i;
}

int variables_get(const struct variables *variables, const char *name, double *value) {
    size_t i = find(variables, name);
    if (i == variables->count)
        return 0;
    *value = variables->entries[i].value;
    return 1;
}

int variables_set(struct variables *variables, const char *name, double value) {
    size_t i = find(variables, name);
    if (i == sizeof variables->entries / sizeof variables->entries[0])
        return 0;
    if (i == variables->count) {
        strcpy(variables->entries[i].name, name);
        variables->count++;
    }
    variables->entries[i].value = value;
    return 1;
}
