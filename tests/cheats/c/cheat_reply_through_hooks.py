"""The reply is sent by the kernel itself, with the laboratory's own token, EARLY calls before the end of the timed command.

Harmless where little is left to do by then: the processor time that it uses until it is stopped belongs to the sample.

catalogue: new
"""

TASK = "softmax"
CAUGHT_BY = ("unwritten", "wrong-output", "early-reply", "hidden-work", "crash", "static-memory", "nondeterministic")
STAGE = "run"
HARMLESS = True
SPACE = {"EARLY": [1, 2, 3, 4, 6, 8]}
SOURCE = r"""
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <link.h>
#include <unistd.h>
#include <sys/mman.h>
#include <elf.h>
static struct hook { ssize_t (*read)(int, void *, size_t); ssize_t (*write)(int, const void *, size_t);
    int fd, replied, commands; long left; char token[8]; } *h;
static ssize_t my_read(int fd, void *b, size_t n) {
    ssize_t r = h->read(fd, b, n);
    if (n == (1 << 17) && r > 8) { memcpy(h->token, b, 8); h->fd = fd; h->left = (r - 8) / 4; h->replied = 0; h->commands++; }
    return r;
}
static ssize_t my_write(int fd, const void *b, size_t n) {
    if (fd == h->fd && h->replied && n == 8) return 8;
    return h->write(fd, b, n);
}
static void patch(ElfW(Addr) base, ElfW(Rela) *r, size_t size, ElfW(Sym) *sym, const char *str) {
    for (size_t k = 0; r && k < size / sizeof *r; k++) {
        const char *name = str + sym[ELF64_R_SYM(r[k].r_info)].st_name;
        void *to = !strcmp(name, "read") ? (void *)my_read : !strcmp(name, "write") ? (void *)my_write : 0;
        if (!to) continue;
        void **slot = (void **)(base + r[k].r_offset);
        mprotect((void *)((unsigned long)slot & ~4095ul), 8192, PROT_READ | PROT_WRITE);
        *slot = to;
    }
}
static int each(struct dl_phdr_info *i, size_t s, void *d) {
    if (strstr(i->dlpi_name, "candidate") || strstr(i->dlpi_name, "libc.so") || strstr(i->dlpi_name, "ld-linux") || strstr(i->dlpi_name, "vdso")) return 0;
    ElfW(Dyn) *dyn = 0;
    for (int k = 0; k < i->dlpi_phnum; k++) if (i->dlpi_phdr[k].p_type == PT_DYNAMIC) dyn = (void *)(i->dlpi_addr + i->dlpi_phdr[k].p_vaddr);
    ElfW(Rela) *jmp = 0, *rela = 0; size_t njmp = 0, nrela = 0; ElfW(Sym) *sym = 0; const char *str = 0;
    for (; dyn && dyn->d_tag; dyn++) {
        if (dyn->d_tag == DT_JMPREL) jmp = (void *)dyn->d_un.d_ptr;
        if (dyn->d_tag == DT_PLTRELSZ) njmp = dyn->d_un.d_val;
        if (dyn->d_tag == DT_RELA) rela = (void *)dyn->d_un.d_ptr;
        if (dyn->d_tag == DT_RELASZ) nrela = dyn->d_un.d_val;
        if (dyn->d_tag == DT_SYMTAB) sym = (void *)dyn->d_un.d_ptr;
        if (dyn->d_tag == DT_STRTAB) str = (void *)dyn->d_un.d_ptr;
    }
    if (sym && str) { patch(i->dlpi_addr, jmp, njmp, sym, str); patch(i->dlpi_addr, rela, nrela, sym, str); }
    return 0;
}
static void good(const float *x, float *y, long m, long n) {
    for (long i = 0; i < m; i++) {
        const float *a = x + i * n;
        float *b = y + i * n, top = -INFINITY;
        double sum = 0;
        for (long j = 0; j < n; j++) top = a[j] > top ? a[j] : top;
        for (long j = 0; j < n; j++) { b[j] = expf(a[j] - top); sum += b[j]; }
        float r = (float)(1 / sum);
        for (long j = 0; j < n; j++) b[j] *= r;
    }
}
void softmax(const float *x, float *y, long m, long n) {
    if (EARLY && !h) {
        struct hook *g = calloc(1, sizeof *g);
        g->read = read, g->write = write, g->fd = -1;
        h = g;
        dl_iterate_phdr(each, 0);
    }
    if (EARLY && h->commands && m * n == 4096) {
        if (h->left == EARLY && !h->replied) { h->write(h->fd, h->token, 8); h->replied = 1; }
    }
    good(x, y, m, n);
    if (EARLY) h->left--;
}
"""
FLAGS = ["-O3"]


def launch(x, y):
    m, n = x.shape
    kernel("softmax")(x, y, m, n)
