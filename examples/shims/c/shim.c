/* A shim of level 1 around librdkafka. */
#include <string.h>
#include "groupproof.h"
#include "rdkafka.h"

typedef rd_kafka_topic_partition_list_t partitions;
static rd_kafka_t *consumer;

static gp_list rows_of(const partitions *list) {
    gp_list made = {0};
    for (int i = 0; i < list->cnt; i++)
        gp_add(&made, list->elems[i].topic, list->elems[i].partition, list->elems[i].offset);
    return made;
}

static partitions *list_of(const gp_list *rows) {
    partitions *made = rd_kafka_topic_partition_list_new(rows->count);
    for (int i = 0; i < rows->count; i++)
        rd_kafka_topic_partition_list_add(made, rows->rows[i].topic, rows->rows[i].partition)->offset = rows->rows[i].offset;
    return made;
}

static bool set(void *conf, const char *name, const char *value) { return rd_kafka_conf_set(conf, name, value, NULL, 0) == RD_KAFKA_CONF_OK; }
static gp_result result(rd_kafka_resp_err_t code) { return gp_coded(code, rd_kafka_err2name(code), rd_kafka_err2str(code)); }

static void rebalance(rd_kafka_t *client, rd_kafka_resp_err_t what, partitions *list, void *opaque) {
    bool is_assigned = what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    gp_list changed = rows_of(list);
    (is_assigned ? gp_assigned : rd_kafka_assignment_lost(client) ? gp_lost : gp_revoked)(&changed);
    if (strcmp(rd_kafka_rebalance_protocol(client), "COOPERATIVE") == 0)
        rd_kafka_error_destroy((is_assigned ? rd_kafka_incremental_assign : rd_kafka_incremental_unassign)(client, list));
    else
        rd_kafka_assign(client, is_assigned ? list : NULL);
    gp_free(&changed);
}

static gp_result subscribe(gp_fields *fields) {
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    gp_set(fields, gp_librdkafka, set, conf);
    if (gp_number(fields, "max_poll_interval_ms", 300000) < gp_number(fields, "session_timeout_ms", 45000)) { /* librdkafka wants it no shorter */
        set(conf, "max.poll.interval.ms", gp_take(fields, "session_timeout_ms")->text);
        gp_ignore(fields, "max_poll_interval_ms");
    }
    if (!set(conf, "partition.assignment.strategy", gp_joined(fields, "assignors", text, sizeof text)))
        return gp_unimplemented("librdkafka has no such assignor");
    rd_kafka_conf_set_rebalance_cb(conf, rebalance);
    if ((consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text)) == NULL)
        return gp_unimplemented(text); /* such as cooperative and eager assignors together */
    rd_kafka_poll_set_consumer(consumer);
    gp_list topics = gp_topics(gp_take(fields, "topics"));
    return result(rd_kafka_subscribe(consumer, list_of(&topics)));
}

static void poll_once(int wait_ms) {
    rd_kafka_message_t *record = rd_kafka_consumer_poll(consumer, wait_ms);
    if (record != NULL && record->err != 0)
        gp_error(result(record->err));
    else if (record != NULL)
        gp_consumed(rd_kafka_topic_name(record->rkt), record->partition, record->offset);
    if (record != NULL)
        rd_kafka_message_destroy(record);
}

static void close_consumer(void) { rd_kafka_consumer_close(consumer); }
static gp_result commit(const gp_list *offsets) { return result(rd_kafka_commit(consumer, list_of(offsets), 0)); }

static gp_result committed(gp_list *asked) {
    partitions *list = list_of(asked);
    gp_result how = result(rd_kafka_committed(consumer, list, 10000));
    for (int i = 0; i < list->cnt; i++)
        asked->rows[i].offset = list->elems[i].offset;
    return how;
}

int main(void) {
    static const char *const capabilities[] = {"classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "on-revoked", NULL};
    return gp_run(&(gp_client){"librdkafka", rd_kafka_version_str(), capabilities, subscribe, poll_once, commit, committed, close_consumer, NULL, NULL, NULL});
}
