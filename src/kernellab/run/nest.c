/* The confined process that forks a child for every sample, and all that a child does.

   A child maps the buffers of its calls, gives everything else away, loads the machine code, runs calls when told to, and
   is never used for a second sample. All that a candidate could use to remember something goes with it: its static memory,
   its heap, its stack, libc's state. What outlives it are the outputs of its own calls, which the laboratory writes anew
   before anybody sees them again. The parent keeps no count, no number of an earlier child, nothing that differs from one
   fork to the next: a child is a copy of it.
   In C, and not in the Python around it, since a copied interpreter writes to hundreds of its pages before it has done
   anything, and each is copied at its first write: that took longer than all the rest.
   Covered: a child inherits nothing of the children before it; other calls' buffers (never mapped, and no descriptor is left
   to map them with), logs and channels of other samples (each has its own), forks and signals (sandbox/seccomp.py).
   Not covered: a write beside scratch that stays in its page; clocks, which tell when a sample runs; what the processor's
   and the kernel's caches remember; without namespaces (tier T2) process numbers are the machine's own, and tell roughly how
   many were started meanwhile. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SAID = 1 << 17, FAILED_CODE = 70, TLS_MODULE = 9, POPULATE_READ = 22, POPULATE_WRITE = 23 };
static const uint32_t LEFTOVERS = 0xFFFFFFFF; /* the number of a call that fills outputs and scratch with leftovers */
enum { ALIGN = 64, BLOCK = 4096, CARDS = 8 };

/* What a buffer may hold before a call. EARLIER: what another call left; an output alone can have that. */
typedef enum { ZEROS, FAINT, ORDINARY, ANYTHING, LARGE, ONES, EARLIER } Kind;
typedef struct { Kind cards[CARDS]; uint32_t left; } Deck;

/* What the laboratory wrote, as run/nest.py packs it: whole numbers of 64 bits, then names. */
typedef struct { int64_t width, exponent; } Format; /* bytes of an element, and bits of its exponent (0: no float) */
typedef struct { int64_t writable; Format format; int64_t start, length, data, nbytes; } Region;
typedef struct { int64_t threads, namespaced, libraries, regions, plans, calls, words; } Head;
typedef struct { long clone, clone3, capset, close_range; } Numbers; /* of system calls that not every libc names */
typedef struct { unsigned short length; const void *filter; } Program;
typedef void Stub(void **, const long long *, const double *, const long *);
typedef struct { Stub *stub; void **pointers; const int64_t *integers, *floats, *grid; } Step;
typedef struct { Step *steps; int64_t count; } Bound;
typedef struct { char *base, *data; } Place;

static const Head *head;
static const Region *regions;
static const int64_t **plans, **calls;
static const char *names;
static const Numbers *numbers;
static Program program;  /* of a child; none: it is not confined */
static uint32_t *itself; /* where the program names the process it is for */
static Place *places;
static Bound *bound;
static char ***scratch; /* of a plan, buffer by buffer */
static Deck outputs_hold = {{ZEROS, FAINT, ORDINARY, ORDINARY, ANYTHING, LARGE, LARGE, EARLIER}, 0};
static Deck scratch_holds = {{ZEROS, FAINT, ORDINARY, ORDINARY, ANYTHING, LARGE, ONES, ONES}, 0};
static void **libraries;
static int channel;
static _Alignas(8) char message[MOST_SAID];

static void fail(const char *what, const char *why) {
    char said[600];
    int length = snprintf(said, sizeof said, "failed: %s: %s", what, why);
    (void)!write(channel, said, length < (int)sizeof said ? length : (int)sizeof said - 1);
    _exit(FAILED_CODE);
}

static void refused(const char *what) { fail(what, strerror(errno)); }

static void dice(void *into, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t got = getrandom((char *)into + done, length - done, 0);
        if (got < 0 && errno != EINTR) refused("getrandom");
        done += got > 0 ? (size_t)got : 0;
    }
}

static void *room(int64_t count, size_t size) {
    void *made = calloc(count > 0 ? count : 1, size);
    if (made == NULL) refused("calloc");
    return made;
}

/* Memory with a page on either side that faults. */
static char *between(int64_t length, int protection, int flags, int fd, int64_t start) {
    long page = sysconf(_SC_PAGESIZE);
    char *hole = mmap(NULL, length + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (hole == MAP_FAILED) refused("mmap");
    char *base = mmap(hole + page, length, protection, flags | MAP_FIXED, fd, start);
    if (base == MAP_FAILED) refused("mmap");
    return base;
}

/* Every page present, so that no first touch is clocked; what an earlier sample wrote there is wiped out. */
static void touch(const Region *region, char *base) {
    if (madvise(base, region->length, region->writable ? POPULATE_WRITE : POPULATE_READ) != 0) /* before Linux 5.14 */
        for (int64_t at = 0; at < region->length; at += 4096) (void)*(volatile char *)(base + at);
    if (region->writable) memset(base, 0xFF, region->length);
}

typedef struct { uint32_t chance; int64_t number; } Drawn;

static int by_chance(const void *one, const void *other) {
    uint32_t a = ((const Drawn *)one)->chance, b = ((const Drawn *)other)->chance;
    return (a > b) - (a < b);
}

/* The buffers of these calls, in an order of chance, so that no buffer's place tells another's. */
static void map_all(const uint32_t *order, long count, int inputs, int outputs, int scrub) {
    int64_t found = 0;
    Drawn *wanted = room(head->regions, sizeof *wanted);
    for (long k = 0; k < count; k++)
        for (int64_t j = 0; j < calls[order[k]][1]; j++) {
            int64_t number = calls[order[k]][2 + j];
            if (places[number].base != NULL) continue;
            places[number].base = (char *)1;
            wanted[found++].number = number;
        }
    for (int64_t k = 0; k < found; k++) dice(&wanted[k].chance, sizeof wanted[k].chance);
    qsort(wanted, found, sizeof *wanted, by_chance);
    for (int64_t k = 0; k < found; k++) {
        const Region *region = &regions[wanted[k].number];
        int protection = region->writable ? PROT_READ | PROT_WRITE : PROT_READ;
        char *base = between(region->length, protection, MAP_SHARED, region->writable ? outputs : inputs, region->start);
        places[wanted[k].number] = (Place){base, base + region->data};
    }
    for (int64_t k = 0; scrub && k < found; k++) touch(&regions[wanted[k].number], places[wanted[k].number].base);
    free(wanted);
}

/* All descriptors but the channel and what it prints to, all capabilities, and the calls that a sample has no use for. */
static void give_away(void) {
    long above = (unsigned int)channel + 1L;
    int closed = syscall(numbers->close_range, above, 0xFFFFFFFFL, 0L) == 0;
    if (closed && channel > 3) closed = syscall(numbers->close_range, 3L, channel - 1L, 0L) == 0;
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; !closed && fd < (most < 1024 ? 1024 : most > 65536 ? 65536 : most); fd++)
        if (fd != channel) close(fd);
    if (program.length == 0) return;
    uint32_t self[2] = {0x20080522, 0}, none[6] = {0};
    if (syscall(numbers->capset, self, none) != 0) refused("capset");
    *itself = getpid();
    if (prctl(PR_SET_SECCOMP, 2L, &program, 0L, 0L) != 0) refused("seccomp");
}

static void load(void) {
    for (int64_t k = 0; k < head->libraries; k++) {
        char name[64];
        snprintf(name, sizeof name, "./candidate-%d.so", (int)k);
        libraries[k] = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* none sees another's symbols */
        if (libraries[k] == NULL) fail("it cannot be loaded", dlerror());
    }
}

static uint64_t next(uint64_t *state) {
    uint64_t mixed = *state += 0x9E3779B97F4A7C15;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
    return mixed ^ mixed >> 31;
}

static uint32_t below(uint32_t most) {
    uint64_t chance;
    dice(&chance, sizeof chance);
    return chance % most;
}

/* A card of chance; all of a deck are dealt before one comes again, so that few buffers hold many kinds. */
static Kind dealt(Deck *deck) {
    if (deck->left == 0) deck->left = CARDS;
    uint32_t at = below(deck->left--);
    Kind card = deck->cards[at];
    deck->cards[at] = deck->cards[deck->left];
    deck->cards[deck->left] = card;
    return card;
}

/* The bits of an element. FAINT: zeros of either sign and numbers next to none; ORDINARY: from 2^-8 to 2^8, of either sign;
   LARGE: with the highest exponent there is. */
static uint64_t element(Kind kind, Format format, uint64_t chance) {
    int bits = 8 * format.width, mantissa = bits - 1 - format.exponent;
    uint64_t all = ~0ULL >> (64 - bits), sign = chance >> 63;
    if (kind == ZEROS) return 0;
    if (kind == ONES) return all;
    if (kind == ANYTHING) return chance & all;
    if (format.exponent == 0) {
        uint64_t value = kind == FAINT ? chance & 1 : kind == ORDINARY ? chance & 127 : (all >> 1) - (chance & 127);
        return (sign ? -value : value) & all;
    }
    uint64_t fraction = chance & ((1ULL << mantissa) - 1), shift = chance >> 56 & 15, power = 0;
    if (kind == FAINT && shift < 8) fraction = 0;
    if (kind == ORDINARY) power = (1ULL << (format.exponent - 1)) - 9 + shift;
    if (kind == LARGE) power = (1ULL << format.exponent) - 2;
    return sign << (bits - 1) | power << mantissa | fraction;
}

/* Elements of one kind: all alike, or as many different ones as fit into a block, which comes again. */
static void fill(char *data, int64_t nbytes, Kind kind, Format format) {
    uint64_t state, block[BLOCK / 8];
    dice(&state, sizeof state);
    int alike = next(&state) & 1;
    uint64_t bits = element(kind, format, next(&state));
    for (int64_t at = 0; at < BLOCK && at < nbytes; at += format.width) {
        if (!alike) bits = element(kind, format, next(&state));
        memcpy((char *)block + at, &bits, format.width); /* the low bytes: all processors of ours begin with those */
    }
    for (int64_t at = 0; at < nbytes; at += BLOCK) memcpy(data + at, block, nbytes - at < BLOCK ? nbytes - at : BLOCK);
}

/* Nobody says what scratch is for. */
static void fill_scratch(char *data, int64_t nbytes) {
    static const Format formats[] = {{4, 8}, {4, 8}, {4, 0}, {4, 0}, {8, 11}, {8, 0}, {2, 8}, {2, 5}};
    fill(data, nbytes, dealt(&scratch_holds), formats[below(sizeof formats / sizeof *formats)]);
}

/* Every other one ends at a page that faults, the others some lines before: no buffer is promised more than its 64 bytes. */
static char *scratch_of(int64_t nbytes) {
    long page = sysconf(_SC_PAGESIZE);
    int64_t before = below(2) ? 0 : ALIGN * (1 + below(page / ALIGN - 1));
    int64_t rounded = (nbytes + ALIGN - 1) / ALIGN * ALIGN, length = (rounded + before + page - 1) / page * page;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    char *base = between(length > 0 ? length : page, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *data = base + length - before - rounded;
    memset(base, 0xFF, data - base);
    memset(data + rounded, 0xFF, before);
    fill_scratch(data, rounded);
    return data;
}

/* A plan and its buffers as ready-made calls, of the library that the plan names. */
static void make_ready(uint32_t number) {
    const int64_t *call = calls[number], *plan = plans[call[0]], *at = plan + 2 + plan[1];
    if (scratch[call[0]] == NULL) {
        char **made = room(plan[1], sizeof *made);
        for (int64_t k = 0; k < plan[1]; k++) made[k] = scratch_of(plan[2 + k]);
        scratch[call[0]] = made;
    }
    Bound *steps = &bound[number];
    steps->count = *at++;
    steps->steps = room(steps->count, sizeof(Step));
    for (int64_t k = 0; k < steps->count; k++) {
        Step *step = &steps->steps[k];
        const char *name = names + *at++;
        step->stub = (Stub *)dlsym(libraries[plan[0]], name);
        if (step->stub == NULL) fail("it has no symbol", name);
        int64_t pointers = *at++;
        step->pointers = room(pointers, sizeof(void *));
        for (int64_t j = 0; j < pointers; j++, at += 2)
            step->pointers[j] = at[0] ? scratch[call[0]][at[1]] : places[call[2 + at[1]]].data;
        step->integers = at + 1;
        at += 1 + *at;
        step->floats = at + 1;
        at += 1 + *at;
        step->grid = at;
        at += 3;
    }
}

/* Where each library lies, and this thread's copy of its thread-local memory (0: it has none). */
static void tell_places(void) {
    uint64_t said[1 + 2 * head->libraries];
    void *(*local)(size_t *) = (void *(*)(size_t *))dlsym(RTLD_DEFAULT, "__tls_get_addr");
    memcpy(said, "loaded!!", 8);
    for (int64_t k = 0; k < head->libraries; k++) {
        size_t module[2] = {0, 0};
        said[1 + 2 * k] = *(uint64_t *)libraries[k]; /* a handle is a link_map, which starts with it */
        int none = dlinfo(libraries[k], TLS_MODULE, module) != 0 || module[0] == 0 || local == NULL;
        said[2 + 2 * k] = none ? 0 : (uint64_t)(uintptr_t)local(module);
    }
    if (write(channel, said, sizeof said) < 0) _exit(FAILED_CODE);
}

static int is_output(int64_t number) { return places[number].base != NULL && regions[number].writable; }

/* Another output of these calls, drawn in secret: of the same length or, where there is none, a longer one; else -1. */
static int64_t another(int64_t number) {
    int64_t found = -1, nbytes = regions[number].nbytes;
    for (int longer = 0; longer < 2 && found < 0; longer++)
        for (int64_t k = 0, fit = 0; k < head->regions; k++) {
            int fits = longer ? regions[k].nbytes > nbytes : regions[k].nbytes == nbytes;
            if (fits && k != number && is_output(k) && below(++fit) == 0) found = k;
        }
    return found;
}

/* What used buffers may hold before a call, in every output and all scratch. Answers are moved before any is lost. */
static void leave(void) {
    Kind *kinds = room(head->regions, sizeof *kinds);
    for (int64_t k = 0; k < head->regions; k++) {
        if (!is_output(k) || (kinds[k] = dealt(&outputs_hold)) != EARLIER) continue;
        int64_t from = another(k);
        if (from < 0) kinds[k] = ORDINARY;
        else memcpy(places[k].data, places[from].data, regions[k].nbytes);
    }
    for (int64_t k = 0; k < head->regions; k++)
        if (is_output(k) && kinds[k] != EARLIER) fill(places[k].data, regions[k].nbytes, kinds[k], regions[k].format);
    free(kinds);
    for (int64_t j = 0; j < head->plans; j++)
        for (int64_t k = 0; scratch[j] != NULL && k < plans[j][1]; k++) fill_scratch(scratch[j][k], plans[j][2 + k]);
}

static ssize_t heard(void) {
    ssize_t got;
    do got = read(channel, message, sizeof message);
    while (got < 0 && errno == EINTR);
    if (got < 0) refused("read");
    return got;
}

/* Each command is a token of 8 bytes and the numbers of calls; the reply is the token. */
static void serve(void) {
    for (ssize_t got; (got = heard()) > 0;) {
        const uint32_t *order = (const uint32_t *)(message + 8);
        long count = (got - 8) / 4;
        for (long k = 0; k < count; k++) {
            if (order[k] == LEFTOVERS) {
                leave();
                continue;
            }
            const Bound *call = &bound[order[k]];
            for (int64_t j = 0; j < call->count; j++) {
                const Step *step = &call->steps[j];
                step->stub(step->pointers, (const long long *)step->integers, (const double *)step->floats,
                           (const long *)step->grid);
            }
        }
        if (write(channel, message, 8) < 0) return;
    }
}

/* The whole life of a child: its calls are named by the first message, the rest are commands. */
static void live(int log, int inputs, int outputs) {
    dup2(log, 1);
    dup2(log, 2);
    if (write(channel, "born", 4) < 0) _exit(FAILED_CODE);
    ssize_t got = heard();
    if (got >= 8) {
        uint32_t order[(got - 8) / 4 + 1];
        long count = 0;
        for (long k = 0; k < (got - 8) / 4; k++) {
            memcpy(&order[count], message + 8 + 4 * k, 4);
            if (order[count] >= head->calls) fail("there is no such call", "the laboratory's own mistake");
            count++;
        }
        map_all(order, count, inputs, outputs, memcmp(message, "scrubbed", 8) == 0);
        memset(message, 0, got); /* what is loaded need not know what it is wanted for */
        give_away();
        load();
        for (long k = 0; k < count; k++)
            if (bound[order[k]].steps == NULL) make_ready(order[k]);
        tell_places();
        serve();
    }
    _exit(0);
}

/* Like fork(2), into a pid namespace of its own where that is possible; the child takes the wanted number here.

   Nothing of libc is told: in its namespace the child has the very number that its parent has in its own. */
static long fork_child(int wanted) {
    const long new_pid = 0x20000000, ended = 17;
    int chosen[2] = {1, wanted};
    uint64_t request[11] = {head->namespaced ? new_pid : 0, 0, 0, 0, ended, 0, 0, 0, 0, 0, 0};
    if (head->namespaced) {
        request[8] = (uint64_t)(uintptr_t)chosen;
        request[9] = 2;
    }
    long pid = syscall(numbers->clone3, request, sizeof request);
    if (pid < 0) /* an older kernel, or a container that knows clone only */
        pid = syscall(numbers->clone, request[0] | ended, 0L, 0L, 0L, 0L);
    return pid;
}

static int was_forked(int wanted, const int *given, int inputs, int outputs) {
    long pid = fork_child(wanted);
    if (pid == 0) {
        channel = given[0];
        live(given[1], inputs, outputs);
    }
    int why = errno;
    close(given[0]);
    close(given[1]);
    errno = why;
    return pid > 0;
}

static void read_table(const int64_t *at) {
    head = (const Head *)at;
    names = (const char *)(at + head->words);
    regions = (const Region *)(at += sizeof *head / sizeof *at);
    at += head->regions * (sizeof(Region) / sizeof *at);
    plans = room(head->plans, sizeof *plans);
    for (int64_t k = 0; k < head->plans; k++) {
        plans[k] = at;
        at += 2 + at[1];
        for (int64_t steps = *at++; steps > 0; steps--) {
            at += 2 + 2 * at[1];
            at += 1 + *at;
            at += 1 + *at;
            at += 3;
        }
    }
    calls = room(head->calls, sizeof *calls);
    for (int64_t k = 0; k < head->calls; k++) {
        calls[k] = at;
        at += 2 + at[1];
    }
}

/* Serve until the laboratory says otherwise. Returns the exit code, with errno where forking failed. */
__attribute__((visibility("default"))) int nest(const int64_t *table, const Numbers *known, void *filter, int length,
                                                uint32_t *who, int control, int inputs, int outputs) {
    channel = 2; /* until there is one: what goes wrong goes to the log */
    read_table(table);
    numbers = known;
    program = (Program){(unsigned short)(length / 8), filter};
    itself = who;
    places = room(head->regions, sizeof *places);
    bound = room(head->calls, sizeof *bound);
    scratch = room(head->plans, sizeof *scratch);
    libraries = room(head->libraries, sizeof *libraries);
    for (;;) {
        char data[8] = {0};
        union { struct cmsghdr aligned; char room[CMSG_SPACE(2 * sizeof(int))]; } rights = {0};
        struct iovec part = {data, sizeof data};
        struct msghdr got = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
        ssize_t size = recvmsg(control, &got, 0);
        if (size < 0 && errno == EINTR) continue;
        int ended = 0, given[2], wanted;
        if (size == 4 && (memcmp(data, "reap", 4) == 0 || memcmp(data, "tell", 4) == 0)) {
            if (waitpid(-1, &ended, 0) < 0) return FAILED_CODE;
            if (data[0] == 't' && send(control, &ended, sizeof ended, 0) < 0) return FAILED_CODE;
        } else if (size == 8 && memcmp(data, "fork", 4) == 0 && CMSG_FIRSTHDR(&got) != NULL) {
            memcpy(given, CMSG_DATA(CMSG_FIRSTHDR(&got)), sizeof given);
            memcpy(&wanted, data + 4, sizeof wanted);
            if (!was_forked(wanted, given, inputs, outputs)) {
                dprintf(2, "fork: %s\n", strerror(errno));
                return FAILED_CODE;
            }
        } else {
            return 0;
        }
    }
}
