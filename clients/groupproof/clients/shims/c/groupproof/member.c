/* The application beside its client: what it owns, how far it has read, and the events that it writes. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

enum { OVERTAKES_MS_MAX = 1000 }; /* how long a record may overtake the news that its partition was assigned */

typedef struct {
    int64_t least;
    int count;
} span;

static FILE *out;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER, state = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct {
    const gp_client *client;
    bool is_static, is_shut, has_ended, revoked_commit;
    int poll_ms, handler_ms, revoked_sleep_ms, handled; /* handlers that are through the gate */
    gp_list owned, positions, strangers;
    gp_list polled; /* the records that are not reported: of each partition the greatest offset, */
    span *spans;    /* and here the least, and how many */
    bool has_work;
} member;

void gp_open(FILE *to, const gp_client *client) {
    out = to;
    member.client = client;
}

void gp_plan(gp_fields *fields) {
    const json *on_revoked = gp_take(fields, "on_revoked");
    member.is_static = json_get(fields->command, "instance_id") != NULL;
    member.poll_ms = (int)json_number(member.client->poll == NULL ? NULL : gp_take(fields, "poll_timeout_ms"), 100);
    member.handler_ms = (int)gp_number(fields, "handler_delay_ms", 0);
    member.revoked_sleep_ms = (int)json_number(json_get(on_revoked, "sleep_ms"), 0);
    member.revoked_commit = json_true(json_get(on_revoked, "commit"));
}

bool gp_is_static(void) { return member.is_static; }
int gp_poll_ms(void) { return member.poll_ms; }

static void sleep_ms(int ms) {
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000L};
    while (ms > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* ---- lines ---- */

FILE *gp_begin(void) {
    pthread_mutex_lock(&writing);
    return out;
}

void gp_finish(void) {
    fputs("}\n", out);
    fflush(out); /* who listens no more ends stdin too */
    pthread_mutex_unlock(&writing);
}

void gp_put(FILE *to, const char *name, const char *text) {
    fprintf(to, ",\"%s\":", name);
    json_put_text(to, text);
}

void gp_put_problem(FILE *to, const gp_result *problem) {
    gp_put(to, "error", problem->name);
    gp_put(to, "message", problem->message);
    fprintf(to, ",\"fatal\":%s", problem->is_fatal ? "true" : "false");
}

void gp_put_partitions(FILE *to, const gp_list *list, bool with_offsets) {
    fputc('[', to);
    for (int place = 0; place < list->count; place++) {
        fprintf(to, "%s{\"topic\":", place > 0 ? "," : "");
        json_put_text(to, list->rows[place].topic);
        fprintf(to, ",\"partition\":%d", (int)list->rows[place].partition);
        if (with_offsets)
            fprintf(to, ",\"offset\":%lld", (long long)list->rows[place].offset);
        fputc('}', to);
    }
    fputc(']', to);
}

void gp_put_offsets(FILE *to, const gp_list *list) {
    fputc('[', to);
    for (int place = 0; place < list->count; place++) {
        fprintf(to, "%s[", place > 0 ? "," : "");
        json_put_text(to, list->rows[place].topic);
        fprintf(to, ",%d,%lld]", (int)list->rows[place].partition, (long long)list->rows[place].offset);
    }
    fputc(']', to);
}

/* ---- what is owned, and read ---- */

static gp_list copied(const gp_list *list) {
    gp_list made = {0};
    for (int place = 0; place < list->count; place++)
        gp_add(&made, list->rows[place].topic, list->rows[place].partition, list->rows[place].offset);
    return made;
}

static int by_partition(const void *left, const void *right) {
    const gp_row *one = left, *other = right;
    int topics = strcmp(one->topic, other->topic);
    return topics != 0 ? topics : (one->partition > other->partition) - (one->partition < other->partition);
}

gp_list gp_owned(void) {
    pthread_mutex_lock(&state);
    gp_list made = copied(&member.owned);
    pthread_mutex_unlock(&state);
    if (made.count > 0)
        qsort(made.rows, (size_t)made.count, sizeof *made.rows, by_partition);
    return made;
}

bool gp_owns(const char *topic, int32_t partition) {
    pthread_mutex_lock(&state);
    bool does = gp_find(&member.owned, topic, partition) != NULL;
    pthread_mutex_unlock(&state);
    return does;
}

gp_list gp_positions(const gp_list *of) {
    gp_list found = {0}, owned = gp_owned();
    const gp_list *asked = of != NULL ? of : &owned;
    pthread_mutex_lock(&state);
    for (int place = 0; place < asked->count; place++) {
        const gp_row *read = gp_find(&member.positions, asked->rows[place].topic, asked->rows[place].partition);
        if (read != NULL)
            gp_add(&found, read->topic, read->partition, read->offset);
    }
    pthread_mutex_unlock(&state);
    gp_free(&owned);
    return found;
}

static void forget(const gp_list *partitions) {
    pthread_mutex_lock(&state);
    for (int place = 0; place < partitions->count; place++) {
        gp_remove(&member.owned, partitions->rows[place].topic, partitions->rows[place].partition);
        gp_remove(&member.positions, partitions->rows[place].topic, partitions->rows[place].partition);
    }
    pthread_mutex_unlock(&state);
}

/* ---- callbacks ---- */

static void callback(const char *name, const gp_list *partitions) {
    gp_report(); /* an event that follows must not overtake the records */
    FILE *to = gp_begin();
    fprintf(to, "{\"name\":\"%s\",\"partitions\":", name);
    gp_put_partitions(to, partitions, false);
    gp_finish();
}

static void callback_done(void) {
    fputs("{\"name\":\"callback_done\"", gp_begin());
    gp_finish();
}

void gp_assigned(const gp_list *partitions) {
    pthread_mutex_lock(&state);
    for (int place = 0; place < partitions->count; place++) {
        gp_remove(&member.owned, partitions->rows[place].topic, partitions->rows[place].partition);
        gp_add(&member.owned, partitions->rows[place].topic, partitions->rows[place].partition, -1);
    }
    gp_free(&member.strangers);
    pthread_mutex_unlock(&state);
    callback("partitions_assigned", partitions);
    callback_done();
    pthread_cond_broadcast(&changed);
}

void gp_revoked(const gp_list *partitions) {
    callback("partitions_revoked", partitions);
    sleep_ms(member.revoked_sleep_ms);
    gp_list offsets = gp_positions(partitions);
    if (member.revoked_commit && offsets.count > 0)
        gp_committed(&offsets, member.client->commit(&offsets));
    gp_free(&offsets);
    forget(partitions);
    callback_done();
}

void gp_lost(const gp_list *partitions) {
    callback("partitions_lost", partitions);
    forget(partitions);
    callback_done();
}

void gp_committed(const gp_list *offsets, gp_result how) {
    gp_report();
    FILE *to = gp_begin();
    fputs("{\"name\":\"offsets_committed\"", to);
    if (how.kind == GP_OUTCOME_UNKNOWN)
        fputs(",\"outcome\":\"unknown\"", to);
    else
        fprintf(to, ",\"success\":%s", how.kind == GP_OK ? "true" : "false");
    if (how.kind == GP_REFUSED)
        gp_put_problem(to, &how);
    fputs(",\"offsets\":", to);
    gp_put_partitions(to, offsets, true);
    gp_finish();
}

void gp_error(gp_result problem) {
    gp_report();
    FILE *to = gp_begin();
    fputs("{\"name\":\"error\"", to);
    gp_put_problem(to, &problem);
    gp_finish();
    if (problem.is_fatal) { /* who reports it may be in the gate, and must not wait for itself */
        pthread_mutex_lock(&state);
        member.is_shut = true;
        pthread_mutex_unlock(&state);
    }
}

/* ---- records ---- */

void gp_consumed(const char *topic, int32_t partition, int64_t offset) {
    pthread_mutex_lock(&state);
    gp_row *read = gp_find(&member.polled, topic, partition), *position = gp_find(&member.positions, topic, partition);
    if (read == NULL) {
        gp_add(&member.polled, topic, partition, offset);
        member.spans = realloc(member.spans, sizeof *member.spans * (size_t)member.polled.count);
        if (member.spans == NULL)
            abort();
        read = &member.polled.rows[member.polled.count - 1];
        member.spans[member.polled.count - 1].least = offset;
        member.spans[member.polled.count - 1].count = 0;
    }
    span *range = &member.spans[read - member.polled.rows];
    read->offset = offset > read->offset ? offset : read->offset;
    range->least = offset < range->least ? offset : range->least;
    range->count++;
    if (position != NULL)
        position->offset = read->offset + 1;
    else if (gp_find(&member.owned, topic, partition) != NULL)
        gp_add(&member.positions, topic, partition, read->offset + 1);
    pthread_mutex_unlock(&state);
}

void gp_report(void) {
    int count = 0;
    pthread_mutex_lock(&state);
    for (int place = 0; place < member.polled.count; place++) {
        const gp_row *row = &member.polled.rows[place];
        FILE *to = place == 0 ? gp_begin() : out;
        fputs(place == 0 ? "{\"name\":\"records_consumed\",\"partitions\":[{\"topic\":" : ",{\"topic\":", to);
        json_put_text(to, row->topic);
        fprintf(to, ",\"partition\":%d,\"minOffset\":%lld,\"maxOffset\":%lld,\"count\":%d}", (int)row->partition, (long long)member.spans[place].least,
                (long long)row->offset, member.spans[place].count);
        count += member.spans[place].count;
    }
    if (count > 0) {
        fprintf(out, "],\"count\":%d", count);
        gp_finish();
        member.has_work = true;
    }
    gp_free(&member.polled);
    pthread_mutex_unlock(&state);
}

void gp_work(void) {
    if (member.has_work)
        sleep_ms(member.handler_ms);
    member.has_work = false;
}

/* ---- the gate ---- */

void gp_shut(bool is_shut) {
    pthread_mutex_lock(&state);
    member.is_shut = is_shut;
    while (is_shut && member.handled > 0) /* what was begun before the pause is reported before it is answered */
        pthread_cond_wait(&changed, &state);
    pthread_mutex_unlock(&state);
    pthread_cond_broadcast(&changed);
}

bool gp_is_shut(void) {
    pthread_mutex_lock(&state);
    bool is = member.is_shut;
    pthread_mutex_unlock(&state);
    return is;
}

void gp_end(void) {
    pthread_mutex_lock(&state);
    member.has_ended = true;
    pthread_mutex_unlock(&state);
    pthread_cond_broadcast(&changed);
}

/* Wait until the partition is the application's, not for ever: a record of one that was never assigned is reported as it came. */
static void await_assigned(const char *topic, int32_t partition) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* which pthread_cond_timedwait goes by */
    until.tv_sec += OVERTAKES_MS_MAX / 1000;
    while (!member.has_ended && gp_find(&member.owned, topic, partition) == NULL && gp_find(&member.strangers, topic, partition) == NULL)
        if (pthread_cond_timedwait(&changed, &state, &until) == ETIMEDOUT)
            gp_add(&member.strangers, topic, partition, -1);
}

bool gp_handle(const char *topic, int32_t partition, int64_t offset) {
    pthread_mutex_lock(&state);
    await_assigned(topic, partition);
    while (member.is_shut && !member.has_ended)
        pthread_cond_wait(&changed, &state);
    bool is_open = !member.has_ended;
    member.handled += is_open;
    pthread_mutex_unlock(&state);
    if (!is_open)
        return false;
    gp_consumed(topic, partition, offset);
    gp_report();
    sleep_ms(member.handler_ms);
    pthread_mutex_lock(&state);
    member.handled--;
    pthread_mutex_unlock(&state);
    pthread_cond_broadcast(&changed);
    return true;
}
