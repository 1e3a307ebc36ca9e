/* Lists, results, and the fields of a command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void gp_add(gp_list *list, const char *topic, int32_t partition, int64_t offset) {
    gp_row *rows = realloc(list->rows, sizeof *rows * (size_t)(list->count + 1));
    char *name = malloc(strlen(topic) + 1);
    if (rows == NULL || name == NULL)
        abort();
    list->rows = rows;
    rows[list->count].topic = strcpy(name, topic);
    rows[list->count].partition = partition;
    rows[list->count++].offset = offset;
}

gp_row *gp_find(const gp_list *list, const char *topic, int32_t partition) {
    for (int place = 0; place < list->count; place++)
        if (list->rows[place].partition == partition && strcmp(list->rows[place].topic, topic) == 0)
            return &list->rows[place];
    return NULL;
}

void gp_remove(gp_list *list, const char *topic, int32_t partition) {
    gp_row *found = gp_find(list, topic, partition);
    if (found == NULL)
        return;
    free(found->topic);
    *found = list->rows[--list->count];
}

void gp_free(gp_list *list) {
    for (int place = 0; place < list->count; place++)
        free(list->rows[place].topic);
    free(list->rows);
    list->rows = NULL;
    list->count = 0;
}

gp_list gp_rows(const json *lists) {
    gp_list made = {0};
    for (const json *row = json_at(lists, 0); row != NULL; row = row->next)
        if (json_text(json_at(row, 0), NULL) != NULL)
            gp_add(&made, json_at(row, 0)->text, (int32_t)json_number(json_at(row, 1), 0), json_number(json_at(row, 2), -1));
    return made;
}

gp_list gp_topics(const json *topics) {
    gp_list made = {0};
    for (const json *topic = json_at(topics, 0); topic != NULL; topic = topic->next)
        if (topic->kind == JSON_TEXT)
            gp_add(&made, topic->text, -1, -1);
    return made;
}

/* ---- results ---- */

static gp_result result(int kind, const char *name, const char *message) {
    gp_result made = {GP_OK, "", "", false};
    made.kind = kind;
    snprintf(made.name, sizeof made.name, "%s", name);
    snprintf(made.message, sizeof made.message, "%s", message);
    return made;
}

gp_result gp_ok(void) { return result(GP_OK, "", ""); }
gp_result gp_refused(const char *name, const char *message) { return result(GP_REFUSED, name, message); }
gp_result gp_unimplemented(const char *why) { return result(GP_UNIMPLEMENTED, "", why); }
gp_result gp_outcome_unknown(void) { return result(GP_OUTCOME_UNKNOWN, "", "the client does not tell how the commit went"); }

gp_result gp_coded(int code, const char *own, const char *message) {
    const char *name = gp_code_name(code);
    return code == 0 ? gp_ok() : gp_refused(name != NULL ? name : own, message);
}

/* The names of org.apache.kafka.common.protocol.Errors. */
static const struct {
    int code;
    const char *name;
} names[] = {
    {-1, "UNKNOWN_SERVER_ERROR"}, {1, "OFFSET_OUT_OF_RANGE"}, {3, "UNKNOWN_TOPIC_OR_PARTITION"}, {4, "INVALID_FETCH_SIZE"},
    {5, "LEADER_NOT_AVAILABLE"}, {6, "NOT_LEADER_OR_FOLLOWER"}, {7, "REQUEST_TIMED_OUT"}, {10, "MESSAGE_TOO_LARGE"},
    {12, "OFFSET_METADATA_TOO_LARGE"}, {13, "NETWORK_EXCEPTION"}, {14, "COORDINATOR_LOAD_IN_PROGRESS"}, {15, "COORDINATOR_NOT_AVAILABLE"},
    {16, "NOT_COORDINATOR"}, {18, "RECORD_LIST_TOO_LARGE"}, {19, "NOT_ENOUGH_REPLICAS"}, {20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"},
    {22, "ILLEGAL_GENERATION"}, {23, "INCONSISTENT_GROUP_PROTOCOL"}, {24, "INVALID_GROUP_ID"}, {25, "UNKNOWN_MEMBER_ID"},
    {26, "INVALID_SESSION_TIMEOUT"}, {27, "REBALANCE_IN_PROGRESS"}, {28, "INVALID_COMMIT_OFFSET_SIZE"}, {29, "TOPIC_AUTHORIZATION_FAILED"},
    {30, "GROUP_AUTHORIZATION_FAILED"}, {35, "UNSUPPORTED_VERSION"}, {40, "INVALID_CONFIG"}, {42, "INVALID_REQUEST"},
    {47, "INVALID_PRODUCER_EPOCH"}, {48, "INVALID_TXN_STATE"}, {49, "INVALID_PRODUCER_ID_MAPPING"}, {56, "KAFKA_STORAGE_ERROR"},
    {68, "NON_EMPTY_GROUP"}, {69, "GROUP_ID_NOT_FOUND"}, {70, "FETCH_SESSION_ID_NOT_FOUND"}, {79, "MEMBER_ID_REQUIRED"},
    {81, "GROUP_MAX_SIZE_REACHED"}, {82, "FENCED_INSTANCE_ID"}, {86, "GROUP_SUBSCRIBED_TO_TOPIC"}, {88, "UNSTABLE_OFFSET_COMMIT"},
    {100, "UNKNOWN_TOPIC_ID"}, {110, "FENCED_MEMBER_EPOCH"}, {111, "UNRELEASED_INSTANCE_ID"}, {112, "UNSUPPORTED_ASSIGNOR"},
    {113, "STALE_MEMBER_EPOCH"}, {128, "INVALID_REGULAR_EXPRESSION"},
};

const char *gp_code_name(int code) {
    for (size_t place = 0; place < sizeof names / sizeof *names; place++)
        if (names[place].code == code)
            return names[place].name;
    return NULL;
}

/* ---- fields ---- */

const json *gp_take(gp_fields *fields, const char *name) {
    const json *value = json_get(fields->command, name);
    if (value != NULL && !gp_is_taken(fields, name) && fields->count < GP_FIELDS_MAX)
        fields->taken[fields->count++] = name;
    return value;
}

const char *gp_text(gp_fields *fields, const char *name) { return json_text(gp_take(fields, name), ""); }
long long gp_number(gp_fields *fields, const char *name, long long otherwise) { return json_number(gp_take(fields, name), otherwise); }
bool gp_true(gp_fields *fields, const char *name) { return json_true(gp_take(fields, name)); }

const char *gp_joined(gp_fields *fields, const char *name, char *joined, size_t size) {
    *joined = '\0';
    for (const json *text = json_at(gp_take(fields, name), 0); text != NULL; text = text->next)
        snprintf(joined + strlen(joined), size - strlen(joined), "%s%s", *joined != '\0' ? "," : "", json_text(text, ""));
    return joined;
}

bool gp_is_taken(const gp_fields *fields, const char *name) {
    for (int place = 0; place < fields->count; place++)
        if (strcmp(fields->taken[place], name) == 0)
            return true;
    return false;
}

void gp_ignore(gp_fields *fields, const char *name) {
    for (int place = 0; place < fields->count; place++)
        if (strcmp(fields->taken[place], name) == 0)
            fields->taken[place] = fields->taken[--fields->count];
}

void gp_set(gp_fields *fields, const gp_setting *settings, bool (*set)(void *to, const char *setting, const char *value), void *to) {
    for (; settings->field != NULL; settings++) {
        const json *value = gp_take(fields, settings->field);
        if (value != NULL && (value->text == NULL || !set(to, settings->setting, value->text)))
            gp_ignore(fields, settings->field);
    }
}

const gp_setting gp_librdkafka[] = {
    {"bootstrap", "bootstrap.servers"},
    {"group", "group.id"},
    {"client_id", "client.id"},
    {"instance_id", "group.instance.id"},
    {"session_timeout_ms", "session.timeout.ms"},
    {"heartbeat_interval_ms", "heartbeat.interval.ms"},
    {"max_poll_interval_ms", "max.poll.interval.ms"},
    {"auto_commit", "enable.auto.commit"},
    {"auto_commit_interval_ms", "auto.commit.interval.ms"},
    {"auto_offset_reset", "auto.offset.reset"},
    {"metadata_max_age_ms", "topic.metadata.refresh.interval.ms"},
    {"request_timeout_ms", "socket.timeout.ms"},
    {"assignor", "group.remote.assignor"},
    {"retry_backoff_ms", "retry.backoff.ms"},
    {"reconnect_backoff_ms", "reconnect.backoff.ms"},
    {NULL, NULL},
};
