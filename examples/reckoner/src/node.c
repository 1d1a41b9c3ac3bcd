#include "reckoner.h"

#include <stdlib.h>

struct node *node_new(enum node_kind kind) {
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL)
        abort();
    node->kind = kind;
    return node;
}

struct node *node_with(struct node *parent, struct node *child) {
    if (child == NULL || parent->count == MOST_CHILDREN) {
        node_free(child);
        node_free(parent);
        return NULL;
    }
    parent->children[parent->count++] = child;
    return parent;
}

void node_free(struct node *node) {
    if (node == NULL)
        return;
    for (size_t i = 0; i < node->count; i++)
        node_free(node->children[i]);
    free(node);
}
