#include "json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

static json *value_at(const char **at, int depth);

static void skip_spaces(const char **at) {
    while (**at == ' ' || **at == '\t' || **at == '\r' || **at == '\n')
        ++*at;
}

static json *new_value(json_kind kind) {
    json *made = calloc(1, sizeof *made);
    if (made == NULL)
        abort();
    made->kind = kind;
    return made;
}

static char *copy(const char *from, size_t length) {
    char *made = malloc(length + 1);
    if (made == NULL)
        abort();
    memcpy(made, from, length);
    made[length] = '\0';
    return made;
}

static bool four_digits(const char *at, unsigned *code) {
    char digits[5] = {0};
    for (int place = 0; place < 4; place++) {
        if (!isxdigit((unsigned char)at[place]))
            return false;
        digits[place] = at[place];
    }
    *code = (unsigned)strtoul(digits, NULL, 16);
    return true;
}

static char *put_utf8(char *to, unsigned code) {
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code >= 0x10000) {
        *to++ = (char)(0xF0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3F));
    } else if (code >= 0x800) {
        *to++ = (char)(0xE0 | code >> 12);
    }
    if (code >= 0x800)
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
    else
        *to++ = (char)(0xC0 | code >> 6);
    *to++ = (char)(0x80 | (code & 0x3F));
    return to;
}

/* The character behind \u, of which one beyond the basic plane is written as two. */
static bool escaped_code(const char **at, unsigned *code) {
    unsigned low = 0;
    if (!four_digits(*at + 1, code))
        return false;
    *at += 5;
    if (*code >= 0xD800 && *code < 0xDC00 && (*at)[0] == '\\' && (*at)[1] == 'u' && four_digits(*at + 2, &low)) {
        *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
        *at += 6;
    }
    return true;
}

/* The text that begins at a quote; NULL where it does not end. */
static char *text_at(const char **at) {
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    char *made = copy(*at, strlen(*at)), *to = made;
    for (++*at; **at != '"';) {
        if ((unsigned char)**at < 0x20)
            goto broken;
        if (**at != '\\') {
            *to++ = *(*at)++;
            continue;
        }
        ++*at;
        unsigned code = 0;
        const char *letter = **at == '\0' ? NULL : strchr(letters, **at);
        if (**at == 'u') {
            if (!escaped_code(at, &code))
                goto broken;
            to = put_utf8(to, code);
        } else if (letter != NULL || **at == '"' || **at == '\\' || **at == '/') {
            *to++ = letter != NULL ? meanings[letter - letters] : **at;
            ++*at;
        } else {
            goto broken;
        }
    }
    ++*at;
    *to = '\0';
    return made;
broken:
    free(made);
    return NULL;
}

/* A list or an object: values between `open` and its counterpart, parted by commas. */
static json *values_at(const char **at, int depth) {
    bool is_object = **at == '{';
    char end = is_object ? '}' : ']';
    json *made = new_value(is_object ? JSON_OBJECT : JSON_LIST), **place = &made->first;
    ++*at;
    for (skip_spaces(at); **at != end || place != &made->first; skip_spaces(at)) {
        char *name = NULL;
        if (is_object) {
            if (**at != '"' || (name = text_at(at)) == NULL)
                goto broken;
            skip_spaces(at);
            if (*(*at)++ != ':') {
                free(name);
                goto broken;
            }
        }
        json *value = value_at(at, depth + 1);
        if (value == NULL) {
            free(name);
            goto broken;
        }
        value->name = name;
        *place = value;
        place = &value->next;
        skip_spaces(at);
        if (**at == end)
            break;
        if (*(*at)++ != ',')
            goto broken;
    }
    ++*at;
    return made;
broken:
    json_free(made);
    return NULL;
}

static json *word_at(const char **at) {
    static const struct {
        const char *word;
        json_kind kind;
    } words[] = {{"true", JSON_BOOL}, {"false", JSON_BOOL}, {"null", JSON_NULL}};
    for (size_t place = 0; place < sizeof words / sizeof *words; place++) {
        size_t length = strlen(words[place].word);
        if (strncmp(*at, words[place].word, length) == 0) {
            json *made = new_value(words[place].kind);
            made->text = copy(*at, length);
            *at += length;
            return made;
        }
    }
    char *end;
    if (**at != '-' && !isdigit((unsigned char)**at))
        return NULL;
    (void)strtod(*at, &end);
    if (end == *at)
        return NULL;
    json *made = new_value(JSON_NUMBER);
    made->text = copy(*at, (size_t)(end - *at));
    *at = end;
    return made;
}

static json *value_at(const char **at, int depth) {
    skip_spaces(at);
    if (depth > DEPTH_MAX)
        return NULL;
    if (**at == '{' || **at == '[')
        return values_at(at, depth);
    if (**at != '"')
        return word_at(at);
    char *text = text_at(at);
    if (text == NULL)
        return NULL;
    json *made = new_value(JSON_TEXT);
    made->text = text;
    return made;
}

json *json_read(const char *line) {
    json *made = value_at(&line, 0);
    skip_spaces(&line);
    if (made != NULL && *line != '\0') {
        json_free(made);
        made = NULL;
    }
    return made;
}

void json_free(json *value) {
    while (value != NULL) {
        json *next = value->next;
        json_free(value->first);
        free(value->name);
        free(value->text);
        free(value);
        value = next;
    }
}

const json *json_get(const json *object, const char *name) {
    if (object == NULL || object->kind != JSON_OBJECT)
        return NULL;
    for (const json *each = object->first; each != NULL; each = each->next)
        if (strcmp(each->name, name) == 0)
            return each->kind == JSON_NULL ? NULL : each;
    return NULL;
}

const json *json_at(const json *list, int place) {
    const json *each = list == NULL || list->kind != JSON_LIST ? NULL : list->first;
    for (; each != NULL && place > 0; place--)
        each = each->next;
    return each;
}

const char *json_text(const json *value, const char *otherwise) {
    return value != NULL && value->kind == JSON_TEXT ? value->text : otherwise;
}

long long json_number(const json *value, long long otherwise) {
    return value != NULL && value->kind == JSON_NUMBER ? strtoll(value->text, NULL, 10) : otherwise;
}

bool json_true(const json *value) {
    return value != NULL && value->kind == JSON_BOOL && *value->text == 't';
}

void json_put_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", *text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

void json_put(FILE *out, const json *value) {
    if (value == NULL) {
        fputs("null", out);
        return;
    }
    if (value->kind == JSON_TEXT) {
        json_put_text(out, value->text);
        return;
    }
    if (value->kind != JSON_LIST && value->kind != JSON_OBJECT) {
        fputs(value->text, out);
        return;
    }
    bool is_object = value->kind == JSON_OBJECT;
    fputc(is_object ? '{' : '[', out);
    for (const json *each = value->first; each != NULL; each = each->next) {
        if (is_object) {
            json_put_text(out, each->name);
            fputc(':', out);
        }
        json_put(out, each);
        if (each->next != NULL)
            fputc(',', out);
    }
    fputc(is_object ? '}' : ']', out);
}
