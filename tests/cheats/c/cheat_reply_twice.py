"""Replies itself with the right token, and lets the loop reply again: the second message waits for the next command.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("early-reply", "unwritten")
STAGE = "verify"
SOURCE = r"""
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
static void good(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        for (long j = 0; j < n; j++) b[j] = (float)(b[j] / sum);
    }
}
typedef struct { char *start, *end, token[8]; int channel; } Loop;
static int writable(struct dl_phdr_info *object, size_t size, void *found) {
    Loop *loop = found;
    if (!strstr(object->dlpi_name, "nest.so")) return 0;
    for (int k = 0; k < object->dlpi_phnum; k++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[k];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        loop->start = (char *)((object->dlpi_addr + part->p_vaddr + 7) & ~(uintptr_t)7);
        loop->end = (char *)(object->dlpi_addr + part->p_vaddr + part->p_memsz);
    }
    return 1;
}
static int look(Loop *loop) {  /* the loop's own message: a token, which is no pointer, and numbers of calls */
    struct stat what;
    dl_iterate_phdr(writable, loop);
    for (char *at = loop->start; at && at + (1 << 17) <= loop->end; at += 8) {
        const uint32_t *words = (const uint32_t *)at;
        if (words[0] < 1u << 20 || words[1] < 1u << 20 || words[2] > 1u << 16) continue;
        memcpy(loop->token, at, 8);
        for (loop->channel = 3; loop->channel < 1024; loop->channel++)
            if (!fstat(loop->channel, &what) && S_ISSOCK(what.st_mode)) return 1;
    }
    return 0;
}

void softmax(const float *x, float *y, long m, long n) {
    Loop loop = {0};
    good(x, y, m, n);
    if (!look(&loop) || write(loop.channel, loop.token, 8) != 8) y[0] = 0;
}
"""


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
