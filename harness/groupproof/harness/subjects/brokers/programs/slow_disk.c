/* Loaded before a broker's other libraries (LD_PRELOAD): while the number in the file GROUPPROOF_SLOW_DISK is not 0, each write to a file below the folder
 * GROUPPROOF_SLOW_FOLDER takes so many milliseconds longer, one after the other, as on one slow disk. Sockets and other files are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const volatile int *delay_ms;
static const char *folder;
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    const char *control = getenv("GROUPPROOF_SLOW_DISK");
    folder = getenv("GROUPPROOF_SLOW_FOLDER");
    int fd = control && folder ? open(control, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *there = mmap(NULL, sizeof(int), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (there != MAP_FAILED)
        delay_ms = there;
}

static int is_below(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static void wait_for_disk(int fd) {
    int ms = delay_ms ? *delay_ms : 0;
    if (ms <= 0 || !is_below(fd))
        return;
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    pthread_mutex_lock(&disk);
    nanosleep(&pause, NULL);
    pthread_mutex_unlock(&disk);
}

#define NEXT(name) \
    static __typeof__(name) *next; \
    if (!next) \
        next = dlsym(RTLD_NEXT, #name); \
    wait_for_disk(fd)

ssize_t write(int fd, const void *from, size_t count) { NEXT(write); return next(fd, from, count); }
ssize_t pwrite(int fd, const void *from, size_t count, off_t at) { NEXT(pwrite); return next(fd, from, count, at); }
ssize_t pwrite64(int fd, const void *from, size_t count, off64_t at) { NEXT(pwrite64); return next(fd, from, count, at); }
ssize_t writev(int fd, const struct iovec *from, int count) { NEXT(writev); return next(fd, from, count); }
int fsync(int fd) { NEXT(fsync); return next(fd); }
int fdatasync(int fd) { NEXT(fdatasync); return next(fd); }
