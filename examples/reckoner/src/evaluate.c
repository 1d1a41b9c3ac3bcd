#include "reckoner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct evaluation {
    struct variables *variables;
    char *message;
    size_t size;
};

static int value_of(struct evaluation *evaluation, const struct node *node, double *value);

static int fail(struct evaluation *evaluation, const char *message, const char *name) {
    snprintf(evaluation->message, evaluation->size, "%s%s", message, name);
    return 0;
}

static double smallest(const double *numbers, size_t count) {
    double result = numbers[0];
    for (size_t i = 1; i < count; i++)
        if (numbers[i] < result)
            result = numbers[i];
    return result;
}

static double largest(const double *numbers, size_t count) {
    double result = 0; /* fault: must begin with numbers[0], for numbers below zero */
    for (size_t i = 0; i < count; i++)
        if (numbers[i] > result)
            result = numbers[i];
    return result;
}

static double mean(const double *numbers, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i];
    return sum / (double)count;
}

static int call(struct evaluation *evaluation, const struct node *node, double *value) {
    double numbers[MOST_CHILDREN];
    for (size_t i = 0; i < node->count; i++)
        if (!value_of(evaluation, node->children[i], &numbers[i]))
            return 0;
    if (strcmp(node->name, "min") == 0)
        *value = smallest(numbers, node->count);
    else if (strcmp(node->name, "max") == 0)
        *value = largest(numbers, node->count);
    else if (strcmp(node->name, "mean") == 0)
        *value = mean(numbers, node->count);
    else if (strcmp(node->name, "abs") == 0)
        *value = fabs(numbers[0]);
    else if (strcmp(node->name, "sqrt") == 0) {
        if (numbers[0] < 0)
            return fail(evaluation, "root of a negative number", "");
        *value = sqrt(numbers[0]);
    } else
        return fail(evaluation, "unknown function ", node->name);
    return 1;
}

static int binary(struct evaluation *evaluation, const struct node *node, double *value) {
    double left, right;
    if (!value_of(evaluation, node->children[0], &left) || !value_of(evaluation, node->children[1], &right))
        return 0;
    switch (node->symbol) {
    case '+':
        *value = left + right;
        break;
    case '-':
        *value = left - right;
        break;
    case '*':
        *value = left * right;
        break;
    case '/':
    case '%':
        if (right == 0)
            return fail(evaluation, "division by zero", "");
        *value = node->symbol == '/' ? left / right : fmod(left, right);
        break;
    case '^':
        *value = pow(left, right);
        break;
    case '<':
        *value = left < right;
        break;
    case '>':
        *value = left > right;
        break;
    default:
        *value = left == right;
    }
    return 1;
}

static int value_of(struct evaluation *evaluation, const struct node *node, double *value) {
    switch (node->kind) {
    case NODE_NUMBER:
        *value = node->number;
        return 1;
    case NODE_NAME:
        if (!variables_get(evaluation->variables, node->name, value))
            return fail(evaluation, "unknown name ", node->name);
        return 1;
    case NODE_ASSIGN:
        if (!value_of(evaluation, node->children[0], value))
            return 0;
        if (!variables_set(evaluation->variables, node->name, *value))
            return fail(evaluation, "too many variables: ", node->name);
        return 1;
    case NODE_NEGATE:
        if (!value_of(evaluation, node->children[0], value))
            return 0;
        *value = -*value;
        return 1;
    case NODE_BINARY:
        return binary(evaluation, node, value);
    case NODE_CHOICE:
        if (!value_of(evaluation, node->children[0], value))
            return 0;
        return value_of(evaluation, node->children[*value != 0 ? 1 : 2], value);
    case NODE_CALL:
        return call(evaluation, node, value);
    case NODE_SEQUENCE:
        for (size_t i = 0; i < node->count; i++)
            if (!value_of(evaluation, node->children[i], value))
                return 0;
        return 1;
    }
    return 0;
}

int evaluate(const struct node *node, struct variables *variables, double *value, char *message, size_t size) {
    struct evaluation evaluation = {variables, message, size};
    return value_of(&evaluation, node, value);
}
