/* JSON as the lines of the shim contract need it: one value read into a tree, and lines written piece by piece. */
#ifndef GROUPPROOF_JSON_H
#define GROUPPROOF_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT } json_kind;

/* A value. In an object `name` is its key; `first` begins the values of a list or an object, `next` is the value after this one. */
typedef struct json {
    json_kind kind;
    char *name;
    char *text; /* of a text; of a number and of true and false, as it was written */
    struct json *first, *next;
} json;

/* The value that a line holds, NULL where it is none. */
json *json_read(const char *line);
void json_free(json *value);

/* What an object has under a name, the place-th of a list; NULL where that is nothing, or null. */
const json *json_get(const json *object, const char *name);
const json *json_at(const json *list, int place);

/* A text, a number, true or false as C has it; `otherwise` where the value is another. */
const char *json_text(const json *value, const char *otherwise);
long long json_number(const json *value, long long otherwise);
bool json_true(const json *value);

/* Write a text in quotes, with what JSON escapes. */
void json_put_text(FILE *out, const char *text);
/* Write a value as it was read. */
void json_put(FILE *out, const json *value);

#ifdef __cplusplus
}
#endif

#endif
