/* Reads one value a line from stdin, and writes each again as it was understood, or `none`. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

int main(void) {
    char line[1 << 16];
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        json *value = json_read(line);
        if (value == NULL)
            fputs("none", stdout);
        else
            json_put(stdout, value);
        putchar('\n');
        json_free(value);
    }
    return 0;
}
