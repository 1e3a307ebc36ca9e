/*
 * What a C client's shim stands on: the lines of the shim contract, version 1, and what an application keeps beside its client.
 *
 * An author fills in a gp_client and calls gp_run. Commands and polls come from one thread, in which a client's callbacks run too; a client
 * that pushes from threads of its own calls gp_handle there. C99 and POSIX, linked with -lpthread.
 */
#ifndef GROUPPROOF_H
#define GROUPPROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values ---- */

typedef struct {
    char *topic;
    int32_t partition;
    int64_t offset; /* -1: none */
} gp_row;

/* Partitions, with offsets where these are meant. {0} is none; gp_free frees the rows. */
typedef struct {
    gp_row *rows;
    int count;
} gp_list;

void gp_add(gp_list *list, const char *topic, int32_t partition, int64_t offset);
gp_row *gp_find(const gp_list *list, const char *topic, int32_t partition);
void gp_free(gp_list *list);

/* How something that was asked of the client went; fatal is what ends the member, as its client says. */
typedef struct {
    enum { GP_OK, GP_REFUSED, GP_UNIMPLEMENTED, GP_OUTCOME_UNKNOWN } kind;
    char name[64], message[512];
    bool is_fatal;
} gp_result;

gp_result gp_ok(void);
/* An error by Kafka's name, or the client's own in capitals. */
gp_result gp_refused(const char *name, const char *message);
/* An error by Kafka's number; `own` names a number that is none of Kafka's. 0 is gp_ok. */
gp_result gp_coded(int code, const char *own, const char *message);
/* The client has no such feature; or it does not tell how the commit went. */
gp_result gp_unimplemented(const char *why);
gp_result gp_outcome_unknown(void);
const char *gp_code_name(int code); /* NULL where Kafka has none */

/* ---- the fields of `subscribe`: what nobody takes is listed as ignored ---- */

typedef struct gp_fields gp_fields;

const json *gp_take(gp_fields *fields, const char *name); /* NULL where it is not given */
const char *gp_text(gp_fields *fields, const char *name);   /* "" where it is not given */
long long gp_number(gp_fields *fields, const char *name, long long otherwise);
bool gp_true(gp_fields *fields, const char *name);
/* A list of texts, joined by commas, in `joined`. */
const char *gp_joined(gp_fields *fields, const char *name, char *joined, size_t size);
/* Topics, as rows without partitions (-1). */
gp_list gp_topics(const json *topics);
/* List a field as ignored although it was looked at. */
void gp_ignore(gp_fields *fields, const char *name);

/* What a field is called by the client; {NULL} ends a table. */
typedef struct {
    const char *field, *setting;
} gp_setting;
extern const gp_setting gp_librdkafka[]; /* librdkafka's, and its bindings' */

/* Set what the command names: `set` is given the client's name and the value as a text; what it returns false for is ignored. */
void gp_set(gp_fields *fields, const gp_setting *settings, bool (*set)(void *to, const char *setting, const char *value), void *to);

/* ---- the client ---- */

typedef struct {
    const char *client, *version; /* its name, and the release of the library that is loaded */
    const char *const *capabilities; /* NULL ends them */
    gp_result (*subscribe)(gp_fields *fields); /* makes the client; it never waits for the join */
    void (*poll)(int wait_ms);                 /* called over and over, unless the application is paused; NULL for a client that pushes */
    gp_result (*commit)(const gp_list *offsets);
    gp_result (*committed)(gp_list *partitions); /* sets the offsets */
    void (*close)(void);                         /* a dynamic member leaves its group, a static one stays */
    /* What the client has no feature for is NULL, and unimplemented. */
    gp_result (*resubscribe)(const gp_list *topics);
    gp_result (*unsubscribe)(const bool *leave);
    gp_result (*commit_async)(const gp_list *offsets); /* its end is reported by gp_committed */
} gp_client;

/* The main function of a shim: it answers commands until `close`, `exit`, SIGTERM or the end of stdin. */
int gp_run(const gp_client *client);

/* ---- what the client's callbacks report ---- */

void gp_assigned(const gp_list *partitions);
void gp_revoked(const gp_list *partitions); /* does what `on_revoked` asks, by the client's commit */
void gp_lost(const gp_list *partitions);
/* A record that a poll returned. The records of a poll are reported together, before the next event. */
void gp_consumed(const char *topic, int32_t partition, int64_t offset);
/* A record that was pushed: waits while the application is paused, or while the news that its partition is assigned has not come. False where
 * the member closed first: then the record was never the application's. */
bool gp_handle(const char *topic, int32_t partition, int64_t offset);
void gp_committed(const gp_list *offsets, gp_result how);
/* An error that the client handed to its application without being asked. After a fatal one the application polls no more. */
void gp_error(gp_result problem);
bool gp_owns(const char *topic, int32_t partition);

#ifdef __cplusplus
}
#endif

#endif
