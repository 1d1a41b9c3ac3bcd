#include "reckoner.h"

#include <stdio.h>

static int reckon(const char *text, struct variables *variables) {
    char message[128];
    double value = 0;
    int done = 0;
    struct node *node = parse(text, message, sizeof message);
    if (node != NULL)
        done = evaluate(node, variables, &value, message, sizeof message);
    if (done)
        printf("%.10g\n", value);
    else
        fprintf(stderr, "%s\n", message);
    node_free(node);
    return done;
}

int main(int argc, char **argv) {
    struct variables variables = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: reckon EXPRESSION...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++)
        if (!reckon(argv[i], &variables))
            return 1;
    return 0;
}
