/* A calculator of expressions with variables, comparisons, choices and functions. */
#ifndef RECKONER_H
#define RECKONER_H

#include <stddef.h>

enum token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_SYMBOL, /* one character, or '=' doubled as 'E' */
    TOKEN_ERROR
};

struct token {
    enum token_kind kind;
    double number;
    char name[32];
    char symbol;
};

struct lexer {
    const char *next;
    struct token token;
};

void lexer_begin(struct lexer *lexer, const char *text);
void lexer_advance(struct lexer *lexer);

enum node_kind { NODE_NUMBER, NODE_NAME, NODE_ASSIGN, NODE_NEGATE, NODE_BINARY, NODE_CHOICE, NODE_CALL, NODE_SEQUENCE };

#define MOST_CHILDREN 8

struct node {
    enum node_kind kind;
    double number;
    char name[32];
    char symbol;
    size_t count;
    struct node *children[MOST_CHILDREN];
};

struct node *node_new(enum node_kind kind);
struct node *node_with(struct node *parent, struct node *child);
void node_free(struct node *node);

/* Gives NULL and writes a message if the text is no expression. */
struct node *parse(const char *text, char *message, size_t size);

struct variables {
    size_t count;
    struct {
        char name[32];
        double value;
    } entries[64];
};

int variables_get(const struct variables *variables, const char *name, double *value);
int variables_set(struct variables *variables, const char *name, double value);

/* Gives 0 and writes a message if the expression has no value. */
int evaluate(const struct node *node, struct variables *variables, double *value, char *message, size_t size);

static inline int is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

#endif
