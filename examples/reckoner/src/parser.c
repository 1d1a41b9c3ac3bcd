#include "reckoner.h"

#include <stdio.h>
#include <string.h>

struct parser {
    struct lexer lexer;
    char *message;
    size_t size;
};

static struct node *parse_choice(struct parser *parser);

static struct node *fail(struct parser *parser, const char *message) {
    if (parser->message[0] == '\0') {
        if (parser->lexer.token.kind == TOKEN_ERROR)
            snprintf(parser->message, parser->size, "unexpected character '%c'", parser->lexer.token.symbol);
        else
            snprintf(parser->message, parser->size, "%s", message);
    }
    return NULL;
}

static int at(const struct parser *parser, char symbol) {
    return parser->lexer.token.kind == TOKEN_SYMBOL && parser->lexer.token.symbol == symbol;
}

static int take(struct parser *parser, char symbol) {
    if (!at(parser, symbol))
        return 0;
    lexer_advance(&parser->lexer);
    return 1;
}

static struct node *parse_call(struct parser *parser, const char *name) {
    struct node *call = node_new(NODE_CALL);
    strcpy(call->name, name);
    do {
        call = node_with(call, parse_choice(parser));
        if (call == NULL)
            return fail(parser, "too many arguments");
    } while (take(parser, ','));
    if (!take(parser, ')')) {
        node_free(call);
        return fail(parser, "expected ')' after the arguments");
    }
    return call;
}

static struct node *parse_primary(struct parser *parser) {
    struct node *node;
    struct token token = parser->lexer.token;
    if (token.kind == TOKEN_NUMBER) {
        lexer_advance(&parser->lexer);
        node = node_new(NODE_NUMBER);
        node->number = token.number;
        return node;
    }
    if (token.kind == TOKEN_NAME) {
        lexer_advance(&parser->lexer);
        if (take(parser, '('))
            return parse_call(parser, token.name);
        node = node_new(NODE_NAME);
        strcpy(node->name, token.name);
        return node;
    }
    if (take(parser, '(')) {
        node = parse_choice(parser);
        if (node != NULL && !take(parser, ')')) {
            node_free(node);
            return fail(parser, "expected ')'");
        }
        return node;
    }
    return fail(parser, "expected a number, a name or '('");
}

static struct node *parse_unary(struct parser *parser);

static struct node *binary(char symbol, struct node *left, struct node *right) {
    struct node *node = node_new(NODE_BINARY);
    node->symbol = symbol;
    if (right == NULL) {
        node_free(left);
        node_free(node);
        return NULL;
    }
    return node_with(node_with(node, left), right);
}

static struct node *parse_power(struct parser *parser) {
    struct node *base = parse_primary(parser);
    if (base != NULL && take(parser, '^'))
        return binary('^', base, parse_unary(parser));
    return base;
}

static struct node *parse_unary(struct parser *parser) {
    if (take(parser, '-'))
        return node_with(node_new(NODE_NEGATE), parse_unary(parser));
    return parse_power(parser);
}

static struct node *parse_product(struct parser *parser) {
    struct node *left = parse_unary(parser);
    while (left != NULL && (at(parser, '*') || at(parser, '/') || at(parser, '%'))) {
        char symbol = parser->lexer.token.symbol;
        lexer_advance(&parser->lexer);
        left = binary(symbol, left, parse_unary(parser));
    }
    return left;
}

static struct node *parse_sum(struct parser *parser) {
    struct node *left = parse_product(parser);
    while (left != NULL && (at(parser, '+') || at(parser, '-'))) {
        char symbol = parser->lexer.token.symbol;
        lexer_advance(&parser->lexer);
        left = binary(symbol, left, parse_product(parser));
    }
    return left;
}

static struct node *parse_comparison(struct parser *parser) {
    struct node *left = parse_sum(parser);
    if (left != NULL && (at(parser, '<') || at(parser, '>') || at(parser, 'E'))) {
        char symbol = parser->lexer.token.symbol;
        lexer_advance(&parser->lexer);
        return binary(symbol, left, parse_sum(parser));
    }
    return left;
}

static struct node *parse_choice(struct parser *parser) {
    struct node *choice, *condition = parse_comparison(parser);
    if (condition == NULL || !take(parser, '?'))
        return condition;
    choice = node_with(node_new(NODE_CHOICE), condition);
    choice = node_with(choice, parse_choice(parser));
    if (choice == NULL)
        return NULL;
    if (!take(parser, ':')) {
        node_free(choice);
        return fail(parser, "expected ':'");
    }
    return node_with(choice, parse_choice(parser));
}

static struct node *parse_statement(struct parser *parser) {
    struct node *assign, *left = parse_choice(parser);
    if (left == NULL || left->kind != NODE_NAME || !take(parser, '='))
        return left;
    assign = node_new(NODE_ASSIGN);
    strcpy(assign->name, left->name);
    node_free(left);
    return node_with(assign, parse_choice(parser));
}

struct node *parse(const char *text, char *message, size_t size) {
    struct parser parser = {.message = message, .size = size};
    struct node *sequence = node_new(NODE_SEQUENCE);
    message[0] = '\0';
    lexer_begin(&parser.lexer, text);
    do {
        sequence = node_with(sequence, parse_statement(&parser));
        if (sequence == NULL)
            return fail(&parser, "too many statements");
    } while (take(&parser, ';'));
    if (parser.lexer.token.kind != TOKEN_END) {
        node_free(sequence);
        return fail(&parser, "expected the end");
    }
    return sequence;
}
