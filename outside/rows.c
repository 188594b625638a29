#define _GNU_SOURCE
#include "rows.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "buffer.h"
#include "sys.h"

#define SECOND_NS 1000000000u
#define SCAN_EVERY_NS 50000000u
/* Paid off within 0.1 to 0.4 s: a few expensive rows in succession are no reason to omit others. */
#define MOST_DEBT_NS 1000000

/* The budget of a part of the work: an amount each time, and beyond that a share of all time. CPU time spent must be
 * paid off before more is spent. */
struct budget {
    uint64_t free_ns;
    double share;
    uint64_t last_ns, usual_ns; /* its last cost, and the lower of the last two */
    uint64_t paid_ns;           /* time up to which it is paid (CLOCK_MONOTONIC) */
    double debt_ns;
};

/* Pay up to `now_ns` (CLOCK_MONOTONIC); return whether the debt exceeds the limit. */
static bool is_budget_spent(struct budget *budget, uint64_t now_ns)
{
    if (budget->paid_ns > 0)
        budget->debt_ns -= budget->share * (double)(now_ns - budget->paid_ns);
    budget->debt_ns = budget->debt_ns > 0 ? budget->debt_ns : 0;
    budget->paid_ns = now_ns;
    return budget->debt_ns > MOST_DEBT_NS;
}

/* Add the cost of one execution. A virtual machine's clock includes time without a processor, so a single expensive
 * execution is not charged. */
static void add_cost(struct budget *budget, uint64_t cpu_ns)
{
    budget->usual_ns = cpu_ns < budget->last_ns ? cpu_ns : budget->last_ns;
    budget->last_ns = cpu_ns;
    if (budget->usual_ns > budget->free_ns)
        budget->debt_ns += (double)(budget->usual_ns - budget->free_ns);
}

struct row_values {
    uint64_t at_ns;
    double values[MOST_COLUMNS];
    bool counted[MOST_COLUMNS];
};

static struct row_values before_last, last, now;
static struct buffer text;
static size_t last_row; /* its start in the text */
static uint64_t written_ns, scanned_ns;
/* The default events of a program with a few threads take 30 to 100 us. All of these costs grow with the threads. */
static struct budget for_rows = {.free_ns = 100000, .share = 0.0025};
static struct budget for_threads = {.free_ns = 50000, .share = 0.005};
static struct budget for_scans = {.free_ns = 100000, .share = 0.0025};

static uint64_t own_cpu_ns(void)
{
    return sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static bool take(struct rows *rows, bool levels)
{
    now.at_ns = monotonic_ns();
    bool counted = columns_read(rows->columns, levels);
    for (size_t i = 0; i < rows->columns->count; i++) {
        now.values[i] = rows->columns->all[i].now;
        now.counted[i] = rows->columns->all[i].is_counted;
    }
    return counted;
}

/* Return the growth of a column. Sums over processes shrink when one ends without being waited for: that counts as
 * 0. */
static double growth(const struct row_values *since, size_t column)
{
    double grown = now.values[column] - since->values[column];
    return grown > 0 ? grown : 0;
}

static void put_value(const struct rows *rows, size_t at, const struct row_values *since)
{
    const struct column *column = &rows->columns->all[at];
    const struct column *const first = &rows->columns->all[0];
    char number[40];
    buffer_u8(&text, ',');
    if (column->event->kind == RATIO) {
        size_t above = (size_t)(column->parts[0] - first), below = (size_t)(column->parts[1] - first);
        double divisor = growth(since, below);
        snprintf(number, sizeof number, "%.5f", divisor > 0 ? growth(since, above) / divisor : 0);
        buffer_text(&text, now.counted[above] && now.counted[below] ? number : "nan");
    } else if (!now.counted[at]) {
        buffer_text(&text, "nan");
    } else if (column->event->kind == WATTS) {
        snprintf(number, sizeof number, "%.3f", now.values[at]);
        buffer_text(&text, number);
    } else if (column->event->kind == ENERGY) {
        snprintf(number, sizeof number, "%.3f", growth(since, at) / (double)(now.at_ns - since->at_ns));
        buffer_text(&text, number);
    } else if (column->event->kind == SHARE) {
        snprintf(number, sizeof number, "%.4f", growth(since, at) / (double)(now.at_ns - since->at_ns));
        buffer_text(&text, number);
    } else {
        double value = column->event->kind == LEVEL ? now.values[at] : growth(since, at);
        buffer_decimal(&text, (uint64_t)(value + 0.5));
    }
}

static bool lacks_threads(const struct rows *rows)
{
    for (size_t i = 0; i < rows->columns->count; i++)
        if (column_is_of_threads(&rows->columns->all[i]) && !now.counted[i])
            return true;
    return false;
}

static void put_row(struct rows *rows, const struct row_values *since)
{
    char time[40];
    last_row = text.length;
    snprintf(time, sizeof time, "%.6f", (double)(now.at_ns - rows->start_ns) / 1e9);
    buffer_text(&text, time);
    for (size_t i = 0; i < rows->columns->count; i++)
        if (rows->columns->all[i].why[0] == '\0')
            put_value(rows, i, since);
    buffer_u8(&text, '\n');
    before_last = *since;
    last = now;
    rows->written++;
    rows->thin += lacks_threads(rows);
}

/* Write only whole rows, so that a reader never sees a partial one, even after a crash. */
static void write_until(struct rows *rows, size_t length)
{
    struct buffer part = {.data = text.data, .length = length, .failed = text.failed};
    written_ns = now.at_ns;
    if (rows->error == 0 && length > 0)
        rows->error = output_append(rows->output, &part);
    memmove(text.data, text.data + length, text.length - length);
    text.length -= length;
    last_row -= last_row > length ? length : last_row;
}

/* Add a comment line. Commands and reasons may contain any characters. */
static void put_comment(const char *what, const char *text_of_event)
{
    buffer_text(&text, "# ");
    buffer_text(&text, what);
    buffer_text(&text, ": ");
    for (; *text_of_event != '\0'; text_of_event++)
        buffer_u8(&text, (uint8_t)*text_of_event < 32 || *text_of_event == 127 ? '?' : (uint8_t)*text_of_event);
    buffer_u8(&text, '\n');
}

/* Add the start times that align the rows with a recording of the same time. */
static void put_begun(void)
{
    struct utsname names;
    char line[sizeof names.nodename + 60];
    uint64_t unix_ns = sys_clock_ns(CLOCK_REALTIME);
    snprintf(line, sizeof line, "%llu.%06llu s since 1970 on %s", (unsigned long long)(unix_ns / SECOND_NS),
             (unsigned long long)(unix_ns % SECOND_NS / 1000), uname(&names) == 0 ? names.nodename : "?");
    put_comment("begun", line);
}

static void put_head(const struct rows *rows, const char *of)
{
    char line[320];
    snprintf(line, sizeof line, "a row for each interval of %.9g s", (double)rows->interval_ns / 1e9);
    put_comment("incprof sample 1", line);
    put_comment("of", of);
    put_begun();
    for (int available = 0; available < 2; available++)
        for (size_t i = 0; i < rows->columns->count; i++) {
            const struct column *column = &rows->columns->all[i];
            const char *text_of_event = available ? column->note : column->why;
            snprintf(line, sizeof line, "%s: %s", column->event->name, text_of_event);
            if (text_of_event[0] != '\0')
                put_comment(available ? "note" : "not available", line);
        }
    for (size_t i = 0; i < rows->columns->count; i++)
        if (rows->columns->all[i].why[0] == '\0') {
            const struct event *event = rows->columns->all[i].event;
            snprintf(line, sizeof line, "%s: %s", event->name, kind_name(event->kind));
            put_comment("column", line);
        }
    buffer_text(&text, "time_s");
    for (size_t i = 0; i < rows->columns->count; i++)
        if (rows->columns->all[i].why[0] == '\0') {
            buffer_u8(&text, ',');
            buffer_text(&text, rows->columns->all[i].event->name);
        }
    buffer_u8(&text, '\n');
}

bool rows_begin(struct rows *rows, const char *of)
{
    put_head(rows, of);
    columns_scan(rows->columns);
    columns_update(rows->columns);
    take(rows, true);
    write_until(rows, text.length);
    rows->start_ns = scanned_ns = now.at_ns;
    before_last = last = now;
    return rows->error == 0;
}

static void charge(struct budget *budget, uint64_t begun_ns)
{
    add_cost(budget, own_cpu_ns() - begun_ns);
    punctual_end_if_coarse(budget->usual_ns);
}

/* Do a part of the work if its budget allows. */
static bool run_within_budget(struct budget *budget, uint64_t clock, void (*work)(struct columns *),
                              struct columns *columns)
{
    if (is_budget_spent(budget, clock))
        return false;
    uint64_t begun_ns = own_cpu_ns();
    work(columns);
    charge(budget, begun_ns);
    return true;
}

static void make_row(struct rows *rows)
{
    if (take(rows, true))
        put_row(rows, &last);
    /* The last row may still grow, unless rows are a second or more apart. */
    if (now.at_ns - written_ns >= SECOND_NS - rows->interval_ns / 2 || rows->interval_ns >= SECOND_NS)
        write_until(rows, rows->interval_ns < SECOND_NS / 2 ? last_row : text.length);
}

void rows_tick(struct rows *rows, uint64_t missed)
{
    uint64_t clock = monotonic_ns();
    rows->late += missed;
    rows->ticks += missed + 1;
    if (is_budget_spent(&for_rows, clock)) {
        rows->skipped++;
        return;
    }
    /* Scan before reading, so that new processes count from here on. */
    if (clock - scanned_ns >= SCAN_EVERY_NS && run_within_budget(&for_scans, clock, columns_scan, rows->columns))
        scanned_ns = clock;
    run_within_budget(&for_threads, clock, columns_update, rows->columns);
    uint64_t begun_ns = own_cpu_ns();
    make_row(rows);
    charge(&for_rows, begun_ns);
}

static void put_multiplexed(const struct rows *rows)
{
    char line[160];
    for (size_t i = 0; i < rows->columns->count; i++) {
        const struct column *column = &rows->columns->all[i];
        if (!column->has_counter || column->counter.running >= column->counter.enabled * 0.9999)
            continue;
        snprintf(line, sizeof line, "%s: counted %.1f %% of the time, scaled to the whole", column->event->name,
                 100 * column->counter.running / column->counter.enabled);
        put_comment("note", line);
    }
}

static void put_thinned(const struct rows *rows)
{
    char line[160];
    for (size_t i = 0; i < rows->columns->count && rows->thin > 0; i++) {
        const struct column *column = &rows->columns->all[i];
        if (!column_is_of_threads(column))
            continue;
        snprintf(line, sizeof line, "%s: in %llu of %llu rows, as reading so many threads takes long",
                 column->event->name, (unsigned long long)(rows->written - rows->thin),
                 (unsigned long long)rows->written);
        put_comment("note", line);
    }
    snprintf(line, sizeof line, "%llu rows, as reading one takes long", (unsigned long long)rows->skipped);
    if (rows->skipped > 0)
        put_comment("left out", line);
}

void rows_end(struct rows *rows, bool whole)
{
    char line[80];
    if (!whole) {
        take(rows, false);
        uint64_t left = now.at_ns - last.at_ns;
        uint64_t due = (now.at_ns - rows->start_ns) / rows->interval_ns;
        uint64_t unread = due > rows->ticks ? due - rows->ticks : 0; /* the end came before them */
        bool joins = left < rows->interval_ns / 2 && rows->written > 0 && text.length > last_row;
        if (joins) {
            struct row_values since = before_last;
            text.length = last_row;
            rows->written--;
            rows->thin -= lacks_threads(rows); /* it will be counted again */
            put_row(rows, &since);
        } else if (left > 0) {
            struct row_values since = last;
            put_row(rows, &since);
            unread -= unread > 0; /* the one of this row */
        }
        rows->late += unread;
    }
    put_multiplexed(rows);
    put_thinned(rows);
    snprintf(line, sizeof line, "%llu rows, %llu late ticks", (unsigned long long)rows->written,
             (unsigned long long)rows->late);
    put_comment("end", line);
    write_until(rows, text.length);
}
