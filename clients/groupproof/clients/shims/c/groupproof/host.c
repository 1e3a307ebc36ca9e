/* Reads commands and carries them out, one after the other, between the polls of the client. */
#define _POSIX_C_SOURCE 200809L

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

enum { CANNOT_RUN = 89 };

static const gp_client *client;
static bool is_subscribed, is_closed;
static volatile sig_atomic_t is_stopped;

/* ---- answers ---- */

static FILE *answer(const json *id) {
    gp_report(); /* events that a command caused precede its answer */
    FILE *to = gp_begin();
    fputs("{\"id\":", to);
    json_put(to, id);
    return to;
}

static FILE *answer_ok(const json *id) {
    FILE *to = answer(id);
    fputs(",\"ok\":true", to);
    return to;
}

static void answer_result(const json *id, gp_result how) {
    FILE *to = answer(id);
    if (how.kind == GP_UNIMPLEMENTED)
        gp_put(to, "unimplemented", how.message);
    else if (how.kind == GP_REFUSED)
        gp_put_problem(to, &how);
    else
        fputs(how.kind == GP_OK ? ",\"ok\":true" : ",\"ok\":true,\"outcome\":\"unknown\"", to);
    gp_finish();
}

static void answer_offsets(const json *id, const gp_list *offsets, gp_result how) {
    if (how.kind == GP_REFUSED || how.kind == GP_UNIMPLEMENTED) {
        answer_result(id, how);
        return;
    }
    FILE *to = answer_ok(id);
    if (how.kind == GP_OUTCOME_UNKNOWN)
        fputs(",\"outcome\":\"unknown\"", to);
    fputs(",\"offsets\":", to);
    gp_put_offsets(to, offsets);
    gp_finish();
}

/* ---- commands ---- */

static bool claims(const char *capability) {
    for (const char *const *claimed = client->capabilities; *claimed != NULL; claimed++)
        if (strcmp(*claimed, capability) == 0)
            return true;
    return false;
}

static void answer_subscribed(const json *id, const gp_fields *fields) {
    int count = 0;
    fputs("{\"name\":\"startup_complete\"", gp_begin());
    gp_finish();
    FILE *to = answer_ok(id);
    fputs(",\"ignored\":[", to);
    for (const json *field = fields->command->first; field != NULL; field = field->next)
        if (field->kind != JSON_NULL && !gp_is_taken(fields, field->name)) {
            fputs(count++ > 0 ? "," : "", to);
            json_put_text(to, field->name);
        }
    fputc(']', to);
    gp_finish();
}

static void subscribe(const json *id, const json *command) {
    gp_fields fields = {command, {"id", "command"}, 2};
    const char *older = gp_text(&fields, "protocol"), *newer = gp_text(&fields, "group_protocol");
    const char *protocol = *newer != '\0' ? newer : older;
    if (*protocol != '\0' && !claims(protocol)) {
        answer_result(id, gp_unimplemented("this client has no such protocol"));
        return;
    }
    gp_take(&fields, "broker_release"); /* a client that asks its brokers need not be told */
    gp_plan(&fields);
    gp_result how = client->subscribe(&fields);
    is_subscribed = how.kind == GP_OK;
    if (is_subscribed)
        answer_subscribed(id, &fields);
    else
        answer_result(id, how);
}

static void commit(const json *id, const json *command) {
    const json *named = json_get(command, "offsets");
    gp_list offsets = named != NULL ? gp_rows(named) : gp_positions(NULL);
    gp_result how = gp_ok(); /* nothing was read: a commit of nothing is a success */
    bool is_async = strcmp(json_text(json_get(command, "mode"), "sync"), "async") == 0;
    if (is_async)
        how = client->commit_async != NULL ? client->commit_async(&offsets) : gp_unimplemented("this client's commits wait for their end");
    else if (offsets.count > 0)
        how = client->commit(&offsets);
    if (!is_async && how.kind != GP_UNIMPLEMENTED)
        gp_committed(&offsets, how);
    answer_offsets(id, &offsets, how);
    gp_free(&offsets);
}

/* What is committed, or how far the application is: where it has read nothing it begins at what is committed. */
static void look_up(const json *id, const json *command, bool is_position) {
    const json *named = json_get(command, "partitions");
    gp_list asked = named != NULL ? gp_rows(named) : gp_owned(), read = {0}, unread = {0};
    gp_result how = gp_ok();
    if (is_position)
        read = gp_positions(&asked);
    for (int place = 0; place < asked.count; place++)
        if (gp_find(&read, asked.rows[place].topic, asked.rows[place].partition) == NULL)
            gp_add(&unread, asked.rows[place].topic, asked.rows[place].partition, -1);
    if (unread.count > 0)
        how = client->committed(&unread);
    for (int place = 0; place < unread.count; place++)
        gp_add(&read, unread.rows[place].topic, unread.rows[place].partition, unread.rows[place].offset >= 0 ? unread.rows[place].offset : -1);
    answer_offsets(id, &read, how);
    gp_free(&asked);
    gp_free(&read);
    gp_free(&unread);
}

static void answer_assignment(const json *id) {
    gp_list owned = gp_owned();
    FILE *to = answer_ok(id);
    fputs(",\"partitions\":", to);
    gp_put_partitions(to, &owned, false);
    gp_finish();
    gp_free(&owned);
}

static void close_member(void) {
    gp_end();
    if (is_subscribed)
        client->close();
    gp_report();
    fputs("{\"name\":\"shutdown_complete\"", gp_begin());
    gp_finish();
    is_closed = true;
}

static void close_by_command(const json *id, const json *leave) {
    if (leave != NULL && json_true(leave) == gp_is_static()) {
        answer_result(id, gp_unimplemented("this client leaves its group as a dynamic member, and stays as a static one"));
        return;
    }
    close_member();
    answer_result(id, gp_ok());
}

static void resubscribe(const json *id, const json *command) {
    gp_list topics = gp_topics(json_get(command, "topics"));
    answer_result(id, client->resubscribe != NULL ? client->resubscribe(&topics) : gp_unimplemented("this client keeps its topics"));
    gp_free(&topics);
}

static void unsubscribe(const json *id, const json *command) {
    const json *leave = json_get(command, "leave");
    bool forced = json_true(leave);
    if (client->unsubscribe == NULL)
        answer_result(id, gp_unimplemented("this client leaves its group when it is closed"));
    else
        answer_result(id, client->unsubscribe(leave != NULL ? &forced : NULL));
}

static void carry_out_of_member(const char *name, const json *id, const json *command) {
    if (strcmp(name, "pause") == 0 || strcmp(name, "resume") == 0) {
        gp_shut(*name == 'p');
        answer_result(id, gp_ok());
    } else if (strcmp(name, "commit") == 0)
        commit(id, command);
    else if (strcmp(name, "assignment") == 0)
        answer_assignment(id);
    else if (strcmp(name, "position") == 0 || strcmp(name, "committed") == 0)
        look_up(id, command, *name == 'p');
    else if (strcmp(name, "resubscribe") == 0)
        resubscribe(id, command);
    else if (strcmp(name, "unsubscribe") == 0)
        unsubscribe(id, command);
    else
        close_by_command(id, json_get(command, "leave"));
}

static bool is_of_members(const char *name) {
    static const char *const names[] = {"resubscribe", "pause", "resume", "commit", "assignment", "position", "committed", "unsubscribe", "close"};
    for (size_t place = 0; place < sizeof names / sizeof *names; place++)
        if (strcmp(names[place], name) == 0)
            return true;
    return false;
}

static void carry_out(const json *command) {
    const json *id = json_get(command, "id");
    const char *name = json_text(json_get(command, "command"), "");
    bool is_subscribe = strcmp(name, "subscribe") == 0;
    if (strcmp(name, "exit") == 0) {
        close_member();
        answer_result(id, gp_ok());
    } else if (is_subscribe ? is_subscribed : is_of_members(name) && !is_subscribed)
        answer_result(id, gp_refused("ILLEGAL_STATE", is_subscribe ? "subscribed already; use resubscribe" : "not subscribed"));
    else if (is_subscribe)
        subscribe(id, command);
    else if (is_of_members(name))
        carry_out_of_member(name, id, command);
    else
        answer_result(id, gp_unimplemented("this shim knows no such command"));
}

/* ---- the process ---- */

/* The next line of stdin, NULL where none came in wait_ms (-1: as long as it takes). */
static char *next_line(int wait_ms) {
    static char *bytes;
    static size_t filled, taken, size;
    struct pollfd waiting = {STDIN_FILENO, POLLIN, 0};
    if (taken > 0)
        memmove(bytes, bytes + taken, filled -= taken);
    taken = 0;
    for (;;) {
        char *end = filled > 0 ? memchr(bytes, '\n', filled) : NULL;
        if (end != NULL) {
            *end = '\0';
            taken = (size_t)(end - bytes) + 1;
            return bytes;
        }
        if (poll(&waiting, 1, wait_ms) <= 0)
            return NULL;
        if (filled == size && (bytes = realloc(bytes, size += 1 << 16)) == NULL)
            abort();
        ssize_t count = read(STDIN_FILENO, bytes + filled, size - filled);
        if (count <= 0) {
            is_stopped = 1;
            return NULL;
        }
        filled += (size_t)count;
    }
}

static void on_sigterm(int signal) {
    (void)signal;
    is_stopped = 1;
}

static void say_hello(void) {
    FILE *to = gp_begin();
    fputs("{\"name\":\"hello\",\"contract\":1,\"language\":\"c\"", to);
    gp_put(to, "client", client->client);
    gp_put(to, "version", client->version);
    for (const char *const *claimed = client->capabilities; *claimed != NULL; claimed++) {
        fputs(claimed == client->capabilities ? ",\"capabilities\":[" : ",", to);
        json_put_text(to, *claimed);
    }
    fputc(']', to);
    gp_finish();
}

static void read_command(const char *line) {
    json *command = json_read(line);
    if (json_text(json_get(command, "command"), NULL) != NULL)
        carry_out(command);
    else
        fprintf(stderr, "not a command: %s\n", line); /* it has no id, so nobody waits for an answer */
    json_free(command);
}

int gp_run(const gp_client *of) {
    struct sigaction stop = {0};
    stop.sa_handler = on_sigterm; /* without SA_RESTART: poll is to end */
    sigaction(SIGTERM, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);
    FILE *out = fdopen(dup(STDOUT_FILENO), "w");
    dup2(STDERR_FILENO, STDOUT_FILENO); /* whatever the client prints */
    if (out == NULL)
        return CANNOT_RUN;
    client = of;
    gp_open(out, of);
    say_hello();
    while (!is_stopped && !is_closed) {
        bool polls = is_subscribed && client->poll != NULL && !gp_is_shut();
        char *line = next_line(polls ? 0 : -1);
        if (line != NULL) {
            read_command(line);
        } else if (polls && !is_stopped) {
            client->poll(gp_poll_ms());
            gp_report();
            gp_work();
        }
    }
    if (!is_closed)
        close_member();
    return 0;
}
