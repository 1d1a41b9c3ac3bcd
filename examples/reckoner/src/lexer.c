#include "reckoner.h"

#include <stdlib.h>
#include <string.h>

void lexer_begin(struct lexer *lexer, const char *text) {
    lexer->next = text;
    lexer_advance(lexer);
}

static void read_name(struct lexer *lexer) {
    size_t length = 0;
    const char *start = lexer->next;
    while (is_name_start(*lexer->next) || (*lexer->next >= '0' && *lexer->next <= '9'))
        lexer->next++;
    length = (size_t)(lexer->next - start);
    if (length >= sizeof lexer->token.name)
        length = sizeof lexer->token.name - 1;
    memcpy(lexer->token.name, start, length);
    lexer->token.name[length] = '\0';
    lexer->token.kind = TOKEN_NAME;
}

static void read_number(struct lexer *lexer) {
    char *end;
    lexer->token.number = strtod(lexer->next, &end);
    lexer->token.kind = TOKEN_NUMBER;
    lexer->next = end;
}

static void read_symbol(struct lexer *lexer) {
    lexer->token.symbol = *lexer->next;
    lexer->token.kind = strchr("+-*/%^()<>=?:,;", *lexer->next) ? TOKEN_SYMBOL : TOKEN_ERROR;
    lexer->next++;
    if (lexer->token.symbol == '=' && *lexer->next == '=') {
        lexer->token.symbol = 'E';
        lexer->next++;
    }
}

void lexer_advance(struct lexer *lexer) {
    while (*lexer->next == ' ' || *lexer->next == '\t')
        lexer->next++;
    if (*lexer->next == '\0')
        lexer->token.kind = TOKEN_END;
    else if (is_name_start(*lexer->next))
        read_name(lexer);
    else if ((*lexer->next >= '0' && *lexer->next <= '9') || *lexer->next == '.')
        read_number(lexer);
    else
        read_symbol(lexer);
}
