// A shim of level 1 around librdkafka's C++ interface.
#include <memory>
#include <string>
#include <vector>

#include "groupproof.h"
#include "rdkafkacpp.h"

using Partitions = std::vector<RdKafka::TopicPartition *>;
static std::unique_ptr<RdKafka::KafkaConsumer> consumer;

static gp_list rows_of(const Partitions &list) {
    gp_list made = {};
    for (auto *each : list) gp_add(&made, each->topic().c_str(), each->partition(), each->offset());
    return made;
}

static Partitions list_of(const gp_list *rows) {
    Partitions made;
    for (int i = 0; i < rows->count; i++) made.push_back(RdKafka::TopicPartition::create(rows->rows[i].topic, rows->rows[i].partition, rows->rows[i].offset));
    return made;
}

static gp_result result(RdKafka::ErrorCode code) { return gp_coded(code, "LIBRDKAFKA", RdKafka::err2str(code).c_str()); }

struct Rebalance : RdKafka::RebalanceCb {
    void rebalance_cb(RdKafka::KafkaConsumer *client, RdKafka::ErrorCode what, Partitions &list) override {
        const bool is_assigned = what == RdKafka::ERR__ASSIGN_PARTITIONS;
        gp_list changed = rows_of(list);
        (is_assigned ? gp_assigned : client->assignment_lost() ? gp_lost : gp_revoked)(&changed);
        if (client->rebalance_protocol() == "COOPERATIVE")
            delete (is_assigned ? client->incremental_assign(list) : client->incremental_unassign(list));
        else
            is_assigned ? client->assign(list) : client->unassign();
        gp_free(&changed);
    }
} static callback;

static bool set(void *conf, const char *name, const char *value) {
    std::string error;
    return static_cast<RdKafka::Conf *>(conf)->set(name, value, error) == RdKafka::Conf::CONF_OK;
}

static gp_result subscribe(gp_fields *fields) {
    char joined[256];
    std::string error;
    std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
    gp_set(fields, gp_librdkafka, set, conf.get());
    if (gp_number(fields, "max_poll_interval_ms", 300000) < gp_number(fields, "session_timeout_ms", 45000)) {
        set(conf.get(), "max.poll.interval.ms", gp_take(fields, "session_timeout_ms")->text);
        gp_ignore(fields, "max_poll_interval_ms");
    }
    if (!set(conf.get(), "partition.assignment.strategy", gp_joined(fields, "assignors", joined, sizeof joined))) return gp_unimplemented("no such assignor");
    conf->set("rebalance_cb", &callback, error);
    consumer.reset(RdKafka::KafkaConsumer::create(conf.get(), error));
    if (!consumer) return gp_unimplemented(error.c_str());
    gp_list topics = gp_topics(gp_take(fields, "topics"));
    std::vector<std::string> names;
    for (int i = 0; i < topics.count; i++) names.push_back(topics.rows[i].topic);
    return result(consumer->subscribe(names));
}

static void poll_once(int wait_ms) {
    std::unique_ptr<RdKafka::Message> record(consumer->consume(wait_ms));
    if (record->err() == RdKafka::ERR_NO_ERROR)
        gp_consumed(record->topic_name().c_str(), record->partition(), record->offset());
    else if (record->err() != RdKafka::ERR__TIMED_OUT)
        gp_error(result(record->err()));
}

static void close_consumer() { consumer->close(); }

static gp_result commit(const gp_list *offsets) {
    Partitions list = list_of(offsets);
    return result(consumer->commitSync(list));
}

static gp_result committed(gp_list *asked) {
    Partitions list = list_of(asked);
    gp_result how = result(consumer->committed(list, 10000));
    for (int i = 0; i < asked->count; i++) asked->rows[i].offset = list[i]->offset();
    return how;
}

int main() {
    static const char *const capabilities[] = {"classic", "commit", "auto-commit", "pause", "poll-deadline", "static", "cooperative", "on-revoked", nullptr};
    const std::string version = RdKafka::version_str();
    const gp_client client = {"librdkafka++", version.c_str(), capabilities, subscribe, poll_once, commit, committed, close_consumer, nullptr, nullptr, nullptr};
    return gp_run(&client);
}
