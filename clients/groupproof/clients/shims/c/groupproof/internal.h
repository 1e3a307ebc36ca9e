/* What the parts of the library share. */
#ifndef GROUPPROOF_INTERNAL_H
#define GROUPPROOF_INTERNAL_H

#include "groupproof.h"

enum { GP_FIELDS_MAX = 64 };

struct gp_fields {
    const json *command;
    const char *taken[GP_FIELDS_MAX];
    int count;
};

bool gp_is_taken(const gp_fields *fields, const char *name);
void gp_remove(gp_list *list, const char *topic, int32_t partition);
/* [[topic, partition, offset]] or [[topic, partition]]. */
gp_list gp_rows(const json *lists);

/* The member (member.c): what `subscribe` asks of the application, what it owns and has read, and its lines. */
void gp_open(FILE *out, const gp_client *client);
void gp_plan(gp_fields *fields);
gp_list gp_owned(void);
/* How far these were read, where they were; all that are owned for NULL. */
gp_list gp_positions(const gp_list *of);
void gp_report(void); /* the records that were polled and are not reported yet */
void gp_work(void);   /* as long as the handler takes for them */
void gp_shut(bool is_shut);
bool gp_is_shut(void);
void gp_end(void); /* nobody waits any more */
bool gp_is_static(void);
int gp_poll_ms(void);

/* Lines: begun under a lock, ended and flushed. */
FILE *gp_begin(void);
void gp_finish(void);
void gp_put(FILE *out, const char *name, const char *text);
void gp_put_problem(FILE *out, const gp_result *problem);
void gp_put_partitions(FILE *out, const gp_list *list, bool with_offsets);
void gp_put_offsets(FILE *out, const gp_list *list);

#endif
