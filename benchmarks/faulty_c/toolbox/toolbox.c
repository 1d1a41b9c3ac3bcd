/* Small tools for text and numbers, each a command of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

static int numbers_from(char **texts, int count, int *numbers) {
    if (count > MOST)
        return 0;
    for (int i = 0; i < count; i++)
        numbers[i] = atoi(texts[i]);
    return count;
}

/* Prints words in lines of at most a width. */
static void wrap(int width, char **words, int count) {
    int used = 0;
    for (int i = 0; i < count; i++) {
        int length = (int)strlen(words[i]);
        if (used > 0 && used + 1 + length > width) {
            putchar('\n');
            used = 0;
        }
        if (used > 0) {
            putchar(' ');
            used++;
        }
        fputs(words[i], stdout);
        used += length;
    }
    putchar('\n');
}

static int is_leap(int year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in(int year, int month) {
    if (month == 2)
        return is_leap(year) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static int day_of_year(int year, int month, int day) {
    int found = day;
    for (int before = 1; before < month; before++)
        found += days_in(year, before);
    return found;
}

static void sort(int *numbers, int count) {
    for (int i = 1; i < count; i++) {
        int number = numbers[i], at = i;
        while (at > 0 && numbers[at - 1] > number) {
            numbers[at] = numbers[at - 1];
            at--;
        }
        numbers[at] = number;
    }
}

static int search(const int *numbers, int count, int wanted) {
    int low = 0, high = count - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        if (numbers[middle] == wanted)
            return middle;
        if (numbers[middle] < wanted)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

static double middle_of(const int *numbers, int count) {
    if (count % 2 == 1)
        return numbers[count / 2];
    return (numbers[count / 2 - 1] + numbers[count / 2]) / 2.0;
}

/* The price of some pieces in cents; many are cheaper. */
static long price(long pieces, long cents) {
    long total = pieces * cents;
    if (pieces >= 100)
        total -= total / 5;
    else if (pieces >= 10)
        total -= total / 20;
    if (total < 500)
        total += 90; /* to send it */
    return total;
}

struct item {
    struct item *next;
    int number;
};

/* Puts a number behind those that are less. */
static struct item *insert(struct item *first, int number) {
    struct item *item = malloc(sizeof *item), *before = first;
    item->number = number;
    if (first == NULL || number < first->number) {
        item->next = first;
        return item;
    }
    while (before->next != NULL && before->next->number < number)
        before = before->next;
    item->next = before->next;
    before->next = item;
    return first;
}

static struct item *without(struct item *first, int number) {
    struct item *kept = NULL, *before = NULL;
    for (struct item *item = first; item != NULL; item = kept) {
        kept = item->next;
        if (item->number != number) {
            before = item;
            continue;
        }
        if (before == NULL)
            first = kept;
        else
            before->next = kept;
        free(item);
    }
    return first;
}

/* Prints a column of a line; commas between quotes part nothing. */
static int column(const char *line, int wanted) {
    int at = 0, quoted = 0;
    for (; *line != '\0'; line++) {
        if (*line == '"')
            quoted = !quoted;
        else if (*line == ',' && !quoted)
            at++;
        else if (at == wanted)
            putchar(*line);
    }
    putchar('\n');
    return at >= wanted;
}

static int list(char **words, int count) {
    struct item *first = NULL;
    for (int i = 0; i < count; i++) {
        int number = atoi(words[i] + 1);
        if (words[i][0] == '+')
            first = insert(first, number);
        else
            first = without(first, number);
    }
    for (const struct item *item = first; item != NULL; item = item->next)
        printf("%d ", item->number);
    putchar('\n');
    return 0;
}

int main(int count, char **given) {
    int numbers[MOST];
    const char *tool = count > 2 ? given[1] : "";
    if (strcmp(tool, "wrap") == 0) {
        wrap(atoi(given[2]), given + 3, count - 3);
    } else if (strcmp(tool, "day") == 0 && count == 5) {
        printf("%d\n", day_of_year(atoi(given[2]), atoi(given[3]), atoi(given[4])));
    } else if (strcmp(tool, "sort") == 0) {
        int size = numbers_from(given + 2, count - 2, numbers);
        sort(numbers, size);
        for (int i = 0; i < size; i++)
            printf("%d ", numbers[i]);
        putchar('\n');
    } else if (strcmp(tool, "median") == 0) {
        int size = numbers_from(given + 2, count - 2, numbers);
        sort(numbers, size);
        printf("%g\n", middle_of(numbers, size));
    } else if (strcmp(tool, "search") == 0) {
        int size = numbers_from(given + 3, count - 3, numbers);
        printf("%d\n", search(numbers, size, atoi(given[2])));
    } else if (strcmp(tool, "price") == 0 && count == 4) {
        printf("%ld\n", price(atol(given[2]), atol(given[3])));
    } else if (strcmp(tool, "list") == 0) {
        return list(given + 2, count - 2);
    } else if (strcmp(tool, "column") == 0 && count == 4) {
        return !column(given[3], atoi(given[2]));
    } else {
        fprintf(stderr, "usage: toolbox TOOL ARGUMENT...\n");
        return 2;
    }
    return 0;
}
