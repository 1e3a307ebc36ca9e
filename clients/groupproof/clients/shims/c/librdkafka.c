/*
 * A shim of level 1 around librdkafka: one member, one thread. Commands run between polls, as in an application.
 *
 * It is built against the release that it is to run, or one before; what an older one lacks it is told by the library that was loaded.
 * Reading order: main, the commands, the callbacks, the lines.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "groupproof/groupproof.h"
#include "rdkafka.h"

enum { RECORDS_MAX = 500, COMMITTED_MS_MAX = 10000, UNSUBSCRIBE_MS_MAX = 10000, LINE_MAX_BYTES = 1 << 20, TEXT_MAX = 512 };
enum { POLL_INTERVAL_MS = 300000 }; /* the client's default */

#define CONSUMER_PROTOCOL_SINCE 0x020C0000 /* KIP-848 is no preview any more */

typedef rd_kafka_topic_partition_list_t partitions;

/* The records of one partition that came together. */
typedef struct {
    char *topic;
    int32_t partition;
    int64_t least, greatest;
    int count;
} range;

typedef struct {
    const char *error; /* NULL: none */
    char message[TEXT_MAX];
    bool is_fatal;
} problem;

static FILE *out;
static volatile sig_atomic_t is_stopped;

static struct {
    rd_kafka_t *client;
    bool is_polling, is_closed, is_static;
    int poll_ms, handler_ms, revoked_sleep_ms;
    bool revoked_commit;
    int commits_pending; /* asynchronous commits that were commanded and have not called back */
    range ranges[RECORDS_MAX];
    int ranges_count;
} member;

/* librdkafka refuses them with group.protocol=consumer. */
static const char *const of_the_classic_group[] = {"session_timeout_ms", "heartbeat_interval_ms"};

/* ---- the lines ---- */

static void pause_ms(int ms) {
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000L};
    while (ms > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000L;
}

static void end_line(void) {
    fputs("}\n", out);
    fflush(out); /* who listens no more ends stdin too */
}

static void put_field(const char *name, const char *text) {
    fprintf(out, ",\"%s\":", name);
    json_put_text(out, text);
}

static void put_problem(const problem *found) {
    put_field("error", found->error);
    put_field("message", found->message);
    fprintf(out, ",\"fatal\":%s", found->is_fatal ? "true" : "false");
}

/* Partitions as objects, with offsets where an event is to have them. */
static void put_partitions(const char *name, const partitions *list, bool with_offsets) {
    fprintf(out, ",\"%s\":[", name);
    for (int place = 0; list != NULL && place < list->cnt; place++) {
        fprintf(out, "%s{\"topic\":", place > 0 ? "," : "");
        json_put_text(out, list->elems[place].topic);
        fprintf(out, ",\"partition\":%d", (int)list->elems[place].partition);
        if (with_offsets)
            fprintf(out, ",\"offset\":%lld", (long long)list->elems[place].offset);
        fputc('}', out);
    }
    fputc(']', out);
}

/* Offsets as an answer has them; -1 where there is none. */
static void put_offsets(const partitions *list) {
    fputs(",\"offsets\":[", out);
    for (int place = 0; place < list->cnt; place++) {
        fprintf(out, "%s[", place > 0 ? "," : "");
        json_put_text(out, list->elems[place].topic);
        long long offset = (long long)list->elems[place].offset;
        fprintf(out, ",%d,%lld]", (int)list->elems[place].partition, offset >= 0 ? offset : -1LL);
    }
    fputc(']', out);
}

/* ---- errors ---- */

static problem none(void) {
    problem made = {NULL, "", false};
    return made;
}

static problem refusal(const char *error, const char *message) {
    problem made = {error, "", false};
    snprintf(made.message, sizeof made.message, "%s", message);
    return made;
}

/* Kafka's name, where that of librdkafka, or of an older release of it, is another. */
static const char *name_of(rd_kafka_resp_err_t code) {
    const char *name = gp_code_name(code);
    if (code == RD_KAFKA_RESP_ERR_INVALID_MSG)
        return "CORRUPT_MESSAGE";
    if (code == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION)
        return "INVALID_TOPIC_EXCEPTION";
    return name != NULL ? name : rd_kafka_err2name(code);
}

static problem problem_of(rd_kafka_resp_err_t code, const char *message) {
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? none() : refusal(name_of(code), message != NULL ? message : rd_kafka_err2str(code));
}

/* Tell an error that the client handed to its application without being asked. After a fatal one the member polls no more, until `resume`. */
static void tell_error(int code, const char *message) {
    problem found = problem_of((rd_kafka_resp_err_t)code, message);
    char why[TEXT_MAX];
    if (code == RD_KAFKA_RESP_ERR__FATAL) {
        found = problem_of(rd_kafka_fatal_error(member.client, why, sizeof why), why);
        found.is_fatal = true;
    }
    if (found.error == NULL)
        return;
    fputs("{\"name\":\"error\"", out);
    put_problem(&found);
    end_line();
    member.is_polling = member.is_polling && !found.is_fatal;
}

/* ---- events and callbacks ---- */

/* Tell the records that were polled and not told yet: an event that follows must not overtake them. */
static void tell_records(void) {
    int count = 0;
    if (member.ranges_count == 0)
        return;
    fputs("{\"name\":\"records_consumed\",\"partitions\":[", out);
    for (int place = 0; place < member.ranges_count; place++) {
        range *each = &member.ranges[place];
        fprintf(out, "%s{\"topic\":", place > 0 ? "," : "");
        json_put_text(out, each->topic);
        fprintf(out, ",\"partition\":%d,\"minOffset\":%lld,\"maxOffset\":%lld,\"count\":%d}", (int)each->partition, (long long)each->least,
                (long long)each->greatest, each->count);
        count += each->count;
        free(each->topic);
    }
    fprintf(out, "],\"count\":%d", count);
    end_line();
    member.ranges_count = 0;
}

static void tell_committed(const partitions *offsets, const problem *found) {
    fprintf(out, "{\"name\":\"offsets_committed\",\"success\":%s", found->error == NULL ? "true" : "false");
    if (found->error != NULL)
        put_problem(found);
    put_partitions("offsets", offsets, true);
    end_line();
}

static rd_kafka_resp_err_t first_error(rd_kafka_resp_err_t error, const partitions *list) {
    for (int place = 0; error == RD_KAFKA_RESP_ERR_NO_ERROR && list != NULL && place < list->cnt; place++)
        error = list->elems[place].err;
    return error;
}

/* The end of an asynchronous or automatic commit. */
static void on_commit(rd_kafka_t *client, rd_kafka_resp_err_t error, partitions *offsets, void *opaque) {
    (void)client, (void)opaque;
    bool is_commanded = member.commits_pending > 0;
    tell_records();
    member.commits_pending -= is_commanded;
    problem found = none();
    if (error != RD_KAFKA_RESP_ERR__NO_OFFSET)
        found = problem_of(first_error(error, offsets), NULL);
    else if (!is_commanded)
        return; /* an automatic commit that had nothing to commit tells nothing */
    tell_committed(error == RD_KAFKA_RESP_ERR__NO_OFFSET ? NULL : offsets, &found);
}

/* The positions that a commit without offsets commits. */
static partitions *positions(void) {
    partitions *owned = NULL, *found = rd_kafka_topic_partition_list_new(8);
    if (rd_kafka_assignment(member.client, &owned) == RD_KAFKA_RESP_ERR_NO_ERROR && owned != NULL) {
        (void)rd_kafka_position(member.client, owned);
        for (int place = 0; place < owned->cnt; place++) {
            rd_kafka_topic_partition_t *each = &owned->elems[place];
            if (each->offset >= 0)
                rd_kafka_topic_partition_list_add(found, each->topic, each->partition)->offset = each->offset;
        }
    }
    if (owned != NULL)
        rd_kafka_topic_partition_list_destroy(owned);
    return found;
}

static void on_awaited_commit(rd_kafka_t *client, rd_kafka_resp_err_t error, partitions *offsets, void *opaque) {
    (void)client;
    *(rd_kafka_resp_err_t *)opaque = first_error(error, offsets);
}

/* Commit and wait for the end: these offsets, or NULL for the client's positions. Tell it. */
static problem commit_and_tell(const partitions *offsets) {
    partitions *reported = offsets == NULL ? positions() : rd_kafka_topic_partition_list_copy(offsets);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(member.client); /* of its own: on_commit is for commits that nobody waits for */
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_resp_err_t begun = rd_kafka_commit_queue(member.client, offsets, queue, on_awaited_commit, &error);
    if (begun == RD_KAFKA_RESP_ERR_NO_ERROR)
        rd_kafka_queue_poll_callback(queue, -1);
    else
        error = begun;
    rd_kafka_queue_destroy(queue);
    problem found = none();
    if (offsets != NULL || error != RD_KAFKA_RESP_ERR__NO_OFFSET) /* nothing was consumed since the last commit: other clients call that a success */
        found = problem_of(error, NULL);
    tell_committed(reported, &found);
    rd_kafka_topic_partition_list_destroy(reported);
    return found;
}

static void tell_partitions(const char *name, const partitions *list) {
    char *id = rd_kafka_memberid(member.client);
    tell_records();
    fprintf(out, "{\"name\":\"%s\"", name);
    put_partitions("partitions", list, false);
    if (id != NULL && *id != '\0')
        put_field("member_id", id);
    end_line();
    rd_kafka_mem_free(member.client, id);
}

static void tell_callback_done(void) {
    fputs("{\"name\":\"callback_done\"", out);
    end_line();
}

/* What the client asks its application to call, with the partitions that come, or those that go. */
static void hand_over(rd_kafka_t *client, bool is_assigned, partitions *list) {
    if (strcmp(rd_kafka_rebalance_protocol(client), "COOPERATIVE") == 0) {
        rd_kafka_error_t *error = is_assigned ? rd_kafka_incremental_assign(client, list) : rd_kafka_incremental_unassign(client, list);
        if (error != NULL) {
            fprintf(stderr, "incremental assignment: %s\n", rd_kafka_error_string(error));
            rd_kafka_error_destroy(error);
        }
        return;
    }
    rd_kafka_assign(client, is_assigned ? list : NULL);
}

static void on_rebalance(rd_kafka_t *client, rd_kafka_resp_err_t event, partitions *list, void *opaque) {
    (void)opaque;
    member.client = client; /* the first one may come before the client is known here */
    bool is_assigned = event == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    if (!is_assigned && event != RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
        fprintf(stderr, "rebalance: %s\n", rd_kafka_err2str(event));
        rd_kafka_assign(client, NULL);
        return;
    }
    bool is_revoked = !is_assigned && rd_kafka_assignment_lost(client) == 0;
    tell_partitions(is_assigned ? "partitions_assigned" : is_revoked ? "partitions_revoked" : "partitions_lost", list);
    if (is_revoked) {
        pause_ms(member.revoked_sleep_ms);
        if (member.revoked_commit)
            (void)commit_and_tell(NULL);
    }
    tell_callback_done();
    hand_over(client, is_assigned, list);
}

static void on_error(rd_kafka_t *client, int code, const char *message, void *opaque) {
    (void)opaque;
    member.client = client;
    tell_records();
    tell_error(code, message);
}

/* ---- polling ---- */

static void note_record(const rd_kafka_message_t *record) {
    const char *topic = rd_kafka_topic_name(record->rkt);
    for (int place = 0; place < member.ranges_count; place++) {
        range *each = &member.ranges[place];
        if (each->partition == record->partition && strcmp(each->topic, topic) == 0) {
            each->greatest = record->offset;
            each->count++;
            return;
        }
    }
    range *made = &member.ranges[member.ranges_count++];
    made->topic = strdup(topic);
    made->partition = record->partition;
    made->least = made->greatest = record->offset;
    made->count = 1;
}

/* Poll once, and take what else is there already. */
static void poll_once(void) {
    int count = 0;
    for (int wait_ms = member.poll_ms; count < RECORDS_MAX && member.is_polling; wait_ms = 0) {
        rd_kafka_message_t *record = rd_kafka_consumer_poll(member.client, wait_ms);
        if (record == NULL)
            break;
        if (record->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
            tell_records();
            tell_error(record->err, rd_kafka_message_errstr(record));
        } else {
            note_record(record);
            count++;
        }
        rd_kafka_message_destroy(record);
    }
    tell_records();
    if (count > 0)
        pause_ms(member.handler_ms); /* the application works on them, and polls no more meanwhile */
}

/* ---- the commands ---- */

static void answer_ok(const json *id) {
    fputs("{\"id\":", out);
    json_put(out, id);
    fputs(",\"ok\":true", out);
}

static void answer_problem(const json *id, const problem *found) {
    fputs("{\"id\":", out);
    json_put(out, id);
    put_problem(found);
    end_line();
}

static void answer_unimplemented(const json *id, const char *why) {
    fputs("{\"id\":", out);
    json_put(out, id);
    put_field("unimplemented", why);
    end_line();
}

/* Topics as the client takes them; in an assignment, with partitions and offsets where those are given. */
static partitions *listed(const json *lists) {
    partitions *made = rd_kafka_topic_partition_list_new(8);
    for (const json *each = json_at(lists, 0); each != NULL; each = each->next) {
        if (each->kind == JSON_TEXT) {
            rd_kafka_topic_partition_list_add(made, each->text, RD_KAFKA_PARTITION_UA);
        } else if (json_text(json_at(each, 0), NULL) != NULL) {
            int32_t partition = (int32_t)json_number(json_at(each, 1), 0);
            rd_kafka_topic_partition_list_add(made, json_at(each, 0)->text, partition)->offset = json_number(json_at(each, 2), RD_KAFKA_OFFSET_INVALID);
        }
    }
    return made;
}

/* Why librdkafka takes no such list of assignors; NULL when it does. Where it does, they stand in `joined`. */
static const char *assignors_refused(const json *assignors, char *joined, size_t size) {
    static char why[TEXT_MAX];
    bool has_cooperative = false;
    *joined = '\0';
    for (const json *each = json_at(assignors, 0); each != NULL; each = each->next) {
        bool cooperates = strcmp(json_text(each, ""), "cooperative-sticky") == 0;
        has_cooperative = has_cooperative || cooperates;
        if (strcmp(each->text, "range") != 0 && strcmp(each->text, "roundrobin") != 0 && !cooperates) {
            snprintf(why, sizeof why, "librdkafka has no assignor %s", each->text);
            return why;
        }
        snprintf(joined + strlen(joined), size - strlen(joined), "%s%s", *joined != '\0' ? "," : "", each->text);
    }
    if (has_cooperative && strchr(joined, ',') != NULL)
        return "librdkafka lets nobody mix cooperative and eager assignors";
    return NULL;
}

/* The fields that were given and that nobody took. */
static struct {
    const char *names[64];
    int count;
} ignored;

static void ignore(const char *field) {
    if (ignored.count < (int)(sizeof ignored.names / sizeof *ignored.names))
        ignored.names[ignored.count++] = field;
}

static bool set(rd_kafka_conf_t *conf, const char *setting, const char *value, problem *found) {
    char why[TEXT_MAX];
    rd_kafka_conf_res_t done = rd_kafka_conf_set(conf, setting, value, why, sizeof why);
    if (done == RD_KAFKA_CONF_INVALID)
        *found = refusal("_INVALID_ARG", why);
    return done == RD_KAFKA_CONF_OK;
}

static const char *setting_of(const char *field, bool is_classic) {
    if (!is_classic && (strcmp(field, of_the_classic_group[0]) == 0 || strcmp(field, of_the_classic_group[1]) == 0))
        return NULL;
    for (const gp_setting *known = gp_librdkafka; known->field != NULL; known++)
        if (strcmp(known->field, field) == 0)
            return known->setting;
    return NULL;
}

static bool is_taken_elsewhere(const char *field, bool is_classic) {
    static const char *const fields[] = {"id",     "command",    "topics",           "protocol",      "group_protocol", "poll_timeout_ms", "handler_delay_ms",
                                         "on_revoked", "properties", "max_poll_interval_ms", "broker_release", "pattern"};
    for (size_t place = 0; place < sizeof fields / sizeof *fields; place++)
        if (strcmp(fields[place], field) == 0)
            return true;
    return is_classic && strcmp(field, "assignors") == 0;
}

/* The client takes no max.poll.interval.ms below its session timeout. */
static void set_poll_interval(rd_kafka_conf_t *conf, const json *command, bool is_classic, problem *found) {
    char text[32];
    long long session = is_classic ? json_number(json_get(command, "session_timeout_ms"), 0) : 0;
    long long interval = json_number(json_get(command, "max_poll_interval_ms"), POLL_INTERVAL_MS);
    if (json_get(command, "max_poll_interval_ms") != NULL && interval < session)
        ignore("max_poll_interval_ms");
    snprintf(text, sizeof text, "%lld", interval < session ? session : interval);
    (void)set(conf, "max.poll.interval.ms", text, found);
}

static void configure(rd_kafka_conf_t *conf, const json *command, bool is_classic, problem *found) {
    for (const json *each = command->first; each != NULL && found->error == NULL; each = each->next) {
        const char *setting = setting_of(each->name, is_classic);
        if (each->kind == JSON_NULL || is_taken_elsewhere(each->name, is_classic))
            continue;
        if (setting == NULL || !set(conf, setting, each->text, found))
            ignore(each->name);
    }
    if (found->error == NULL)
        set_poll_interval(conf, command, is_classic, found);
    const json *properties = json_get(command, "properties");
    for (const json *each = properties == NULL ? NULL : properties->first; each != NULL && found->error == NULL; each = each->next)
        (void)set(conf, each->name, each->text == NULL ? "" : each->text, found);
}

static void note_plan(const json *command) {
    const json *on_revoked = json_get(command, "on_revoked");
    member.is_static = json_get(command, "instance_id") != NULL;
    member.poll_ms = (int)json_number(json_get(command, "poll_timeout_ms"), 100);
    member.handler_ms = (int)json_number(json_get(command, "handler_delay_ms"), 0);
    member.revoked_sleep_ms = (int)json_number(json_get(on_revoked, "sleep_ms"), 0);
    member.revoked_commit = json_true(json_get(on_revoked, "commit"));
}

/* Make the client and subscribe; on a problem there is no client. */
static problem open_member(const json *command, const char *assignors) {
    char why[TEXT_MAX] = "";
    bool is_classic = assignors != NULL;
    problem found = none();
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    ignored.count = 0;
    if (!is_classic)
        (void)set(conf, "group.protocol", "consumer", &found);
    else if (*assignors != '\0')
        (void)set(conf, "partition.assignment.strategy", assignors, &found);
    configure(conf, command, is_classic, &found);
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
    rd_kafka_conf_set_error_cb(conf, on_error);
    member.client = found.error != NULL ? NULL : rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why);
    if (member.client == NULL) {
        rd_kafka_conf_destroy(conf);
        return found.error != NULL ? found : refusal("_INVALID_ARG", why);
    }
    note_plan(command);
    rd_kafka_poll_set_consumer(member.client);
    partitions *topics = listed(json_get(command, "topics"));
    const char *pattern = json_text(json_get(command, "pattern"), NULL);
    if (pattern != NULL) { /* to librdkafka a topic that begins with ^ is a pattern */
        char anchored[TEXT_MAX];
        snprintf(anchored, sizeof anchored, "^(%s)$", pattern);
        rd_kafka_topic_partition_list_add(topics, anchored, RD_KAFKA_PARTITION_UA);
    }
    found = problem_of(rd_kafka_subscribe(member.client, topics), NULL);
    rd_kafka_topic_partition_list_destroy(topics);
    if (found.error != NULL) {
        rd_kafka_destroy(member.client);
        member.client = NULL;
    }
    return found;
}

static void subscribe(const json *id, const json *command) {
    const char *protocol = json_text(json_get(command, "group_protocol"), json_text(json_get(command, "protocol"), "classic"));
    bool is_classic = strcmp(protocol, "classic") == 0;
    char assignors[TEXT_MAX];
    const char *why = is_classic ? assignors_refused(json_get(command, "assignors"), assignors, sizeof assignors) : NULL;
    if (!is_classic && rd_kafka_version() < CONSUMER_PROTOCOL_SINCE)
        why = "this release of librdkafka has the classic protocol alone";
    if (why != NULL) {
        answer_unimplemented(id, why);
        return;
    }
    problem found = open_member(command, is_classic ? assignors : NULL);
    if (found.error != NULL) {
        answer_problem(id, &found);
        return;
    }
    member.is_polling = true;
    fputs("{\"name\":\"startup_complete\"", out);
    end_line();
    answer_ok(id);
    fputs(",\"ignored\":[", out);
    for (int place = 0; place < ignored.count; place++)
        fprintf(out, "%s\"%s\"", place > 0 ? "," : "", ignored.names[place]);
    fputc(']', out);
    end_line();
}

static void answer(const json *id, const problem *found) {
    if (found->error != NULL) {
        answer_problem(id, found);
        return;
    }
    answer_ok(id);
    end_line();
}

static void resubscribe(const json *id, const json *command) {
    partitions *topics = listed(json_get(command, "topics"));
    problem found = problem_of(rd_kafka_subscribe(member.client, topics), NULL);
    rd_kafka_topic_partition_list_destroy(topics);
    member.is_polling = true;
    answer(id, &found);
}

static void commit(const json *id, const json *command) {
    const json *lists = json_get(command, "offsets");
    partitions *offsets = lists == NULL ? NULL : listed(lists);
    partitions *reported = lists == NULL ? positions() : rd_kafka_topic_partition_list_copy(offsets);
    problem found;
    if (strcmp(json_text(json_get(command, "mode"), "sync"), "async") == 0) {
        found = problem_of(rd_kafka_commit(member.client, offsets, 1), NULL);
        member.commits_pending += found.error == NULL;
    } else {
        found = commit_and_tell(offsets);
    }
    if (found.error != NULL) {
        answer_problem(id, &found);
    } else {
        answer_ok(id);
        put_offsets(reported);
        end_line();
    }
    rd_kafka_topic_partition_list_destroy(reported);
    if (offsets != NULL)
        rd_kafka_topic_partition_list_destroy(offsets);
}

/* The partitions that a command names, else the assignment. */
static partitions *asked(const json *command) {
    partitions *owned = NULL;
    const json *lists = json_get(command, "partitions");
    if (lists != NULL)
        return listed(lists);
    if (rd_kafka_assignment(member.client, &owned) != RD_KAFKA_RESP_ERR_NO_ERROR || owned == NULL)
        owned = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_sort(owned, NULL, NULL);
    return owned;
}

static void tell_offsets(const json *id, const json *command, bool is_committed) {
    partitions *list = asked(command);
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (list->cnt > 0)
        error = is_committed ? rd_kafka_committed(member.client, list, COMMITTED_MS_MAX) : rd_kafka_position(member.client, list);
    problem found = problem_of(first_error(error, list), NULL);
    if (found.error != NULL) {
        answer_problem(id, &found);
    } else {
        answer_ok(id);
        put_offsets(list);
        end_line();
    }
    rd_kafka_topic_partition_list_destroy(list);
}

static void tell_assignment(const json *id) {
    partitions *list = asked(NULL);
    answer_ok(id);
    put_partitions("partitions", list, false);
    end_line();
    rd_kafka_topic_partition_list_destroy(list);
}

static bool owns_partitions(void) {
    partitions *owned = NULL;
    bool does = rd_kafka_assignment(member.client, &owned) == RD_KAFKA_RESP_ERR_NO_ERROR && owned != NULL && owned->cnt > 0;
    if (owned != NULL)
        rd_kafka_topic_partition_list_destroy(owned);
    return does;
}

static void unsubscribe(const json *id, const json *command) {
    const json *leave = json_get(command, "leave");
    if (leave != NULL && !json_true(leave)) {
        answer_unimplemented(id, "librdkafka always leaves its group when it unsubscribes");
        return;
    }
    problem found = problem_of(rd_kafka_unsubscribe(member.client), NULL);
    long long deadline = now_ms() + UNSUBSCRIBE_MS_MAX; /* the partitions are given back in the background */
    while (found.error == NULL && owns_partitions() && now_ms() < deadline) {
        rd_kafka_message_t *record = rd_kafka_consumer_poll(member.client, 50);
        if (record != NULL)
            rd_kafka_message_destroy(record);
    }
    member.is_polling = true; /* an application goes on polling: it has a client, without topics */
    answer(id, &found);
}

static void close_member(void) {
    if (member.client != NULL) {
        rd_kafka_consumer_close(member.client);
        rd_kafka_destroy(member.client);
        member.client = NULL;
    }
    fputs("{\"name\":\"shutdown_complete\"", out);
    end_line();
    member.is_closed = true;
}

static void close_by_command(const json *id, const json *command) {
    const json *leave = json_get(command, "leave");
    if (leave != NULL && json_true(leave) == member.is_static) {
        answer_unimplemented(id, member.is_static ? "librdkafka has no way to make a static member leave" : "librdkafka has no way to close without leaving");
        return;
    }
    close_member();
    answer_ok(id);
    end_line();
}

static void set_polling(const json *id, bool is_polling) {
    member.is_polling = is_polling;
    answer_ok(id);
    end_line();
}

static void carry_out(const json *command) {
    const json *id = json_get(command, "id");
    const char *name = json_text(json_get(command, "command"), "");
    bool is_open = member.client != NULL;
    static const char *const of_members[] = {"resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe", "close"};
    bool is_of_members = false;
    for (size_t place = 0; place < sizeof of_members / sizeof *of_members; place++)
        is_of_members = is_of_members || strcmp(name, of_members[place]) == 0;
    problem closed = refusal("ILLEGAL_STATE", is_open ? "subscribed already; use resubscribe" : "not subscribed");

    if (strcmp(name, "exit") == 0) {
        close_member();
        answer_ok(id);
        end_line();
    } else if ((is_of_members && !is_open) || (strcmp(name, "subscribe") == 0 && is_open))
        answer_problem(id, &closed);
    else if (strcmp(name, "subscribe") == 0)
        subscribe(id, command);
    else if (strcmp(name, "resubscribe") == 0)
        resubscribe(id, command);
    else if (strcmp(name, "pause") == 0 || strcmp(name, "resume") == 0)
        set_polling(id, *name == 'r');
    else if (strcmp(name, "commit") == 0)
        commit(id, command);
    else if (strcmp(name, "assignment") == 0)
        tell_assignment(id);
    else if (strcmp(name, "position") == 0 || strcmp(name, "committed") == 0)
        tell_offsets(id, command, *name == 'c');
    else if (strcmp(name, "unsubscribe") == 0)
        unsubscribe(id, command);
    else if (strcmp(name, "close") == 0)
        close_by_command(id, command);
    else
        answer_unimplemented(id, "this shim knows no such command");
}

/* ---- the process ---- */

/* Wait for the next line of stdin, at most wait_ms (-1: as long as it takes). NULL where none came; `is_stopped` at the end of stdin. */
static char *next_line(int wait_ms) {
    static char bytes[LINE_MAX_BYTES];
    static size_t filled, taken;
    struct pollfd waiting = {STDIN_FILENO, POLLIN, 0};
    memmove(bytes, bytes + taken, filled - taken);
    filled -= taken;
    taken = 0;
    for (;;) {
        char *end = memchr(bytes, '\n', filled);
        if (end != NULL) {
            *end = '\0';
            taken = (size_t)(end - bytes) + 1;
            return bytes;
        }
        if (poll(&waiting, 1, wait_ms) <= 0)
            return NULL;
        ssize_t count = filled < sizeof bytes ? read(STDIN_FILENO, bytes + filled, sizeof bytes - filled) : 0;
        if (count == 0)
            is_stopped = 1;
        if (count <= 0)
            return NULL;
        filled += (size_t)count;
    }
}

static void on_sigterm(int signal) {
    (void)signal;
    is_stopped = 1;
}

static void say_hello(void) {
    const char *version = rd_kafka_version_str();
    fprintf(out, "{\"name\":\"hello\",\"contract\":1,\"client\":\"librdkafka\",\"version\":\"%.*s\",\"language\":\"c\"", (int)strcspn(version, "-"), version);
    fputs(",\"capabilities\":[\"classic\",\"commit\",\"commit-async\",\"auto-commit\",\"pause\",\"poll-deadline\",\"static\"", out);
    fputs(",\"cooperative\",\"on-revoked\",\"resubscribe\",\"regex\"", out);
    if (rd_kafka_version() >= CONSUMER_PROTOCOL_SINCE)
        fputs(",\"consumer\"", out);
    fputc(']', out);
    end_line();
}

int main(void) {
    struct sigaction stop = {0};
    stop.sa_handler = on_sigterm; /* without SA_RESTART: poll is to end */
    sigaction(SIGTERM, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);
    out = fdopen(dup(STDOUT_FILENO), "w");
    dup2(STDERR_FILENO, STDOUT_FILENO); /* whatever the client prints */
    if (out == NULL)
        return 89;
    say_hello();
    while (!is_stopped && !member.is_closed) {
        bool polls = member.client != NULL && member.is_polling;
        char *line = next_line(polls ? 0 : -1);
        if (line != NULL) {
            json *command = json_read(line);
            if (json_text(json_get(command, "command"), NULL) != NULL)
                carry_out(command);
            else
                fprintf(stderr, "not a command: %s\n", line); /* it has no id, so nobody waits for an answer */
            json_free(command);
        } else if (polls && !is_stopped) {
            poll_once();
        }
    }
    if (!member.is_closed)
        close_member();
    return 0;
}
