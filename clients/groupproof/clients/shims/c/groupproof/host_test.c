/*
 * A client in memory behind the library, which tests drive by its lines. It owns t-0 and t-1; each poll reads one record of t-0, up to the third.
 * With an argument it pushes, from a thread of its own: first a record of t-1, then it is assigned the two, then another record.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "groupproof.h"

static gp_list both;
static int64_t reads;
static pthread_t pusher;
static char refuses[64];

static gp_result commit(const gp_list *offsets) {
    (void)offsets;
    if (strcmp(refuses, "unknown") == 0)
        return gp_outcome_unknown();
    return gp_coded(atoi(refuses), "_OWN", "the broker said so");
}

static void *push(void *nothing) {
    gp_handle("t", 1, 7);
    return nothing;
}

static gp_result subscribe(gp_fields *fields) {
    gp_add(&both, "t", 0, -1);
    gp_add(&both, "t", 1, -1);
    snprintf(refuses, sizeof refuses, "%s", gp_text(fields, "refuses"));
    if (*gp_text(fields, "group") == '\0')
        return gp_coded(24, "", "no group");
    gp_take(fields, "rack");
    gp_ignore(fields, "rack");
    if (gp_true(fields, "pushes"))
        pthread_create(&pusher, NULL, push, NULL);
    gp_assigned(&both);
    if (gp_true(fields, "pushes"))
        pthread_join(pusher, NULL);
    return gp_ok();
}

static void poll_once(int wait_ms) {
    (void)wait_ms;
    if (reads < 3)
        gp_consumed("t", 0, reads++);
    else if (strcmp(refuses, "82") == 0) {
        gp_result fatal = gp_coded(82, "", "another has the identity");
        fatal.is_fatal = true;
        gp_error(fatal);
    }
}

static gp_result committed(gp_list *partitions) {
    for (int place = 0; place < partitions->count; place++)
        partitions->rows[place].offset = partitions->rows[place].partition == 0 ? 7 : -1001;
    return gp_ok();
}

static void close_client(void) {
    gp_revoked(&both);
}

static bool note(void *to, const char *setting, const char *value) {
    (void)value;
    return strcmp(setting, "group.id") == 0 && to != NULL;
}

static gp_result resubscribe(const gp_list *topics) {
    return topics->count == 1 && topics->rows[0].partition == -1 ? gp_ok() : gp_refused("WRONG", "topics");
}

static gp_result subscribe_by_table(gp_fields *fields) {
    gp_set(fields, gp_librdkafka, note, &both);
    return gp_ok();
}

int main(int count, char **arguments) {
    static const char *const capabilities[] = {"classic", "commit", NULL};
    gp_client client = {"fake", "1.2.3", capabilities, subscribe, poll_once, commit, committed, close_client, resubscribe, NULL, NULL};
    if (count > 1 && strcmp(arguments[1], "table") == 0)
        client.subscribe = subscribe_by_table;
    return gp_run(&client);
}
