/*
 * A small stateful libnvidia-ml.so.1: what setters set, getters show; energy is power over time.
 *
 * All state lies in the file named by FAKE_NVML_STATE, shared by every process that loads this
 * library and by the tests, which write into it what they want to happen (see driver.py for the
 * same structures in Python). Only what the agent asks for is here; pynvml reports the rest as
 * "function not found".
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, UNINITIALISED = 1, INVALID = 2, UNSUPPORTED = 3, NO_PERMISSION = 4,
       INSUFFICIENT_SIZE = 7, LOST = 15 };

typedef struct {
    char uuid[80];
    char name[96];
    uint64_t energy_uj;
    uint64_t updated_ns;
    uint64_t memory_total, memory_used;
    uint32_t idle_mw, max_mw, min_limit_mw, default_limit_mw, limit_mw;
    uint32_t load_pct, temperature_c;
    uint32_t max_clock_mhz, lock_mhz;
    uint32_t pids[8];
    uint32_t pid_count;
    uint32_t lost;             /* every call answers "GPU is lost" */
    uint32_t refuse_control;   /* every setter answers "no permission" */
    uint32_t no_counter;       /* no total energy counter */
    uint32_t old_temperature;  /* only the deprecated temperature call */
    uint32_t spare;
} gpu_t;

typedef struct {
    uint64_t manual_ns;  /* if set, the time; tests move it by hand */
    uint32_t count, spare;
    gpu_t gpus[8];
} state_t;

static state_t *state;
static int file = -1;

static uint64_t now_ns(void) {
    struct timespec t;
    if (state->manual_ns) return state->manual_ns;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t clock_of(const gpu_t *g) {
    uint32_t top = g->lock_mhz ? g->lock_mhz : g->max_clock_mhz;
    return g->load_pct ? top : 210;
}

static uint32_t power_of(const gpu_t *g) {
    uint64_t dynamic = (uint64_t)(g->max_mw - g->idle_mw) * g->load_pct / 100;
    uint64_t power = g->idle_mw + dynamic * clock_of(g) / g->max_clock_mhz;
    return power > g->limit_mw ? g->limit_mw : (uint32_t)power;
}

static void advance(gpu_t *g) {
    uint64_t now = now_ns();
    if (g->updated_ns && now > g->updated_ns)
        g->energy_uj += (uint64_t)power_of(g) * ((now - g->updated_ns) / 1000000u);
    g->updated_ns = now;
}

/* Every call on a device is: lock, bring the counter up to now, do it, unlock. */
#define WITH_GPU(g, handle, ...)                                     \
    if (!state) return UNINITIALISED;                                \
    uintptr_t number_ = (uintptr_t)(handle);                         \
    if (number_ < 1 || number_ > state->count) return INVALID;       \
    flock(file, LOCK_EX);                                            \
    gpu_t *g = &state->gpus[number_ - 1];                            \
    int result_ = OK;                                                \
    if (g->lost) result_ = LOST;                                     \
    else { advance(g); __VA_ARGS__ }                                 \
    flock(file, LOCK_UN);                                            \
    return result_;

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    const char *path = getenv("FAKE_NVML_STATE");
    if (!path) return 9; /* driver not loaded */
    if (state) munmap(state, sizeof *state);
    if (file >= 0) close(file);
    state = NULL;
    file = open(path, O_RDWR);
    if (file < 0) return 9;
    void *mapped = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) return 999;
    state = mapped;
    return OK;
}

int nvmlShutdown(void) { return state ? OK : UNINITIALISED; }

const char *nvmlErrorString(int code) {
    switch (code) {
    case NO_PERMISSION: return "Insufficient Permissions";
    case UNSUPPORTED: return "Not Supported";
    case LOST: return "GPU is lost";
    case 9: return "Driver Not Loaded";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *out, unsigned length) {
    strncpy(out, "575.57.08", length);
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *out) {
    if (!state) return UNINITIALISED;
    *out = state->count;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    if (!state) return UNINITIALISED;
    if (index >= state->count) return INVALID;
    *out = (void *)(uintptr_t)(index + 1);
    return OK;
}

int nvmlDeviceGetUUID(void *d, char *out, unsigned n) { WITH_GPU(g, d, strncpy(out, g->uuid, n);) }
int nvmlDeviceGetName(void *d, char *out, unsigned n) { WITH_GPU(g, d, strncpy(out, g->name, n);) }

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_t;
int nvmlDeviceGetPciInfo_v3(void *d, pci_t *out) {
    WITH_GPU(g, d, {
        memset(out, 0, sizeof *out);
        out->bus = (unsigned)(g - state->gpus) + 1;
        strcpy(out->bus_id, "00000000:01:00.0");
        out->bus_id[10] = (char)('0' + out->bus);
    })
}

typedef struct { uint64_t total, free, used; } memory_t;
int nvmlDeviceGetMemoryInfo(void *d, memory_t *out) {
    WITH_GPU(g, d, {
        out->total = g->memory_total;
        out->used = g->memory_used;
        out->free = g->memory_total - g->memory_used;
    })
}

typedef struct { unsigned gpu, memory; } rates_t;
int nvmlDeviceGetUtilizationRates(void *d, rates_t *out) {
    WITH_GPU(g, d, out->gpu = g->load_pct; out->memory = g->load_pct / 2;)
}

typedef struct { unsigned version, sensor; int value; } temperature_t;
int nvmlDeviceGetTemperatureV(void *d, temperature_t *out) {
    WITH_GPU(g, d, if (g->old_temperature) result_ = UNSUPPORTED;
             else out->value = (int)g->temperature_c;)
}
int nvmlDeviceGetTemperature(void *d, unsigned sensor, unsigned *out) {
    (void)sensor;
    WITH_GPU(g, d, *out = g->temperature_c;)
}

int nvmlDeviceGetPowerUsage(void *d, unsigned *out) { WITH_GPU(g, d, *out = power_of(g);) }

int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *out) {
    WITH_GPU(g, d, if (g->no_counter) result_ = UNSUPPORTED; else *out = g->energy_uj / 1000;)
}

int nvmlDeviceGetClockInfo(void *d, unsigned kind, unsigned *out) {
    (void)kind;
    WITH_GPU(g, d, *out = clock_of(g);)
}

static int listed(unsigned *count, unsigned *out, const unsigned *items, unsigned n) {
    unsigned room = *count;
    *count = n;
    if (!out || room < n) return INSUFFICIENT_SIZE;
    memcpy(out, items, n * sizeof *items);
    return OK;
}

int nvmlDeviceGetSupportedMemoryClocks(void *d, unsigned *count, unsigned *out) {
    static const unsigned clocks[] = {1593, 810};
    WITH_GPU(g, d, (void)g; result_ = listed(count, out, clocks, 2);)
}

int nvmlDeviceGetSupportedGraphicsClocks(void *d, unsigned memory, unsigned *count, unsigned *out) {
    WITH_GPU(g, d, {
        unsigned clocks[] = {g->max_clock_mhz, 1110, 810, 210};
        result_ = memory == 1593 ? listed(count, out, clocks, 4) : INVALID;
    })
}

int nvmlDeviceGetPowerManagementLimitConstraints(void *d, unsigned *low, unsigned *high) {
    WITH_GPU(g, d, *low = g->min_limit_mw; *high = g->max_mw;)
}
int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *out) { WITH_GPU(g, d, *out = g->limit_mw;) }
int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *out) {
    WITH_GPU(g, d, *out = g->default_limit_mw;)
}
int nvmlDeviceSetPowerManagementLimit(void *d, unsigned limit) {
    WITH_GPU(g, d, if (g->refuse_control) result_ = NO_PERMISSION;
             else if (limit < g->min_limit_mw || limit > g->max_mw) result_ = INVALID;
             else g->limit_mw = limit;)
}
int nvmlDeviceSetGpuLockedClocks(void *d, unsigned low, unsigned high) {
    WITH_GPU(g, d, if (g->refuse_control) result_ = NO_PERMISSION;
             else if (low > high || high > g->max_clock_mhz) result_ = INVALID;
             else g->lock_mhz = high;)
}
int nvmlDeviceResetGpuLockedClocks(void *d) {
    WITH_GPU(g, d, if (g->refuse_control) result_ = NO_PERMISSION; else g->lock_mhz = 0;)
}

typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process_t;
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, process_t *out) {
    WITH_GPU(g, d, {
        unsigned room = *count;
        *count = g->pid_count;
        if (g->pid_count && (!out || room < g->pid_count)) result_ = INSUFFICIENT_SIZE;
        else for (unsigned i = 0; i < g->pid_count; i++)
            out[i] = (process_t){g->pids[i], 1 << 20, ~0u, ~0u};
    })
}
