/* Every way into and out of functions and loops in C. hit(n) is the first thing that the n-th place does: a heartbeat
 * there must have beaten as often as it prints. Compiles as C89 with GNU extensions, and as C17. */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef NEVER_DEFINED
#include <no_such_header.h>
#endif

#define PLACES 100
#define NOINLINE __attribute__((noinline))
#define PRIVATE static
#define PURE(what) __attribute__((what))
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            return -1;                                                                                                 \
    } while (0)
#define BOTH(one, other) one; other

static long counts[PLACES];

static int hit(int place)
{
    return (int)++counts[place];
}

static void report(void)
{
    int place;
    for (place = 0; place < PLACES; place++)
        if (counts[place])
            printf("%d %ld\n", place, counts[place]);
}

static int nested_returns(int a)
{
    hit(1);
    if (a > 10) {
        if (a > 20) {
            return 20;
        }
        return 10;
    } else if (a > 5)
        return 5;
    return 0;
}

static int one_line(int a) { hit(2); if (a) return 1; return 2; }

static int old_style(a, b)
    int a;
    char *b; /* { */
{
    int c = b ? a : 0;
    hit(3);
    return c;
}

PRIVATE NOINLINE PURE(cold) int macros(int a, const char *const b PURE(unused)) PURE(unused);

PRIVATE NOINLINE PURE(cold) int macros(int a, const char *const b PURE(unused))
{ // a comment behind the brace
    hit(4);
    CHECK(a < 100);
    return a;
}

static int jumps(int n)
{
    int i = 0, sum = 0;
    hit(5);
again:
    while (i < n) {
        hit(6);
        i++;
        if (i % 5 == 0)
            continue;
        if (i % 7 == 0)
            goto again;
        if (i == 33)
            break;
        switch (i % 4) {
        case 0:
            sum++;
            break;
        case 1:
            continue;
        default:
            sum += 2;
        }
        if (sum > 1000)
            goto out;
    }
    sum++;
out:
    return sum;
}

static int without_braces(int n)
{
    int i, j, sum = 0;
    hit(7);
    for (i = 0; i < n; i++)
        hit(8);
    for (i = 0; i < n; i++) hit(9); /* behind */
    for (i = 0; i < n; i++)
        for (j = 0; j < i; j++) // two at once
            sum += hit(10) > 0;
    for (i = 0; i < n; i++)
        if (hit(11) % 2)
            sum++;
        else if (i % 3)
            sum += 2;
        else
            sum += 3;
    do
        hit(12);
    while (sum++ < 10);
    do sum += hit(13) > 0; while (sum < 50);
    while (sum-- > 0)
        switch (hit(14) % 3) {
        case 0:
            continue;
        case 1:
            break;
        }
    if (n)
        while (hit(15) < 5)
            ;
    else
        sum = 0;
    for (i = 0; i < n; i++) BOTH(hit(16), sum++);
    return sum;
}

static int duff(int n)
{
    int copied = 0, rounds = (n + 3) / 4;
    hit(17);
    switch (n % 4) {
    case 0:
        do {
            copied++;
        case 3:
            copied++;
        case 2:
            copied++;
        case 1:
            copied++;
        } while (--rounds > 0);
    }
    return copied;
}

static int into_the_middle(int n)
{
    int i = 0;
    hit(18);
    if (n > 3)
        goto inside;
    while (i < n) {
        i += 2;
    inside:
        i++;
    }
    while (i < 2 * n) {
        hit(19);
        if (i % 2)
            goto odd;
        i++;
        continue;
    odd:
        i += 3;
    }
    return i;
}

#ifdef __GNUC__
static int conditional(int a)
{
    hit(20);
#if PLACES > 10
    if (a) {
#else
    if (!a) {
#endif
        while (a-- > 0) {
            hit(21);
#ifdef PLACES
            if (a == 3)
                return a;
#endif
        }
    }
    return 0;
}
#else
static int conditional(int a)
{
    return a;
}
#endif

#if PLACES > 10
static int split(int a, int b) {
#else
static int split(int a) {
    int b = 0;
#endif
    while (a < b) {
        hit(22);
        a++;
    }
    return a;
}

static int computed(int n)
{
    static void *const targets[] = {&&one, &&two, &&done};
    int at = 0, sum = 0;
    hit(23);
    while (1) {
        sum++;
        goto *targets[at];
    one:
        at = sum > n ? 2 : 1;
        continue;
    two:
        at = 0;
        continue;
    }
done:
    return sum;
}

static jmp_buf back;

static void thrown(int depth)
{
    if (depth == 0)
        longjmp(back, 7);
    thrown(depth - 1);
}

static int caught(void)
{
    volatile int n = 0;
    hit(24);
    if (setjmp(back) != 0)
        return n;
    n++;
    thrown(3);
    return -1;
}

static int arrays(int n)
{
    int sum = 0, i;
    hit(25);
    for (i = 1; i < n; i++) {
        int room[hit(26) + i];
        room[0] = i;
        sum += room[0];
    }
    return sum;
}

static struct pair {
    int a, b;
} (*chooser(int which))(int);

static struct pair first(int a)
{
	struct pair made = {0, 0};
	hit(27);
	made.a = a;
	return made;
}

static struct pair (*chooser(int which))(int)
{
    hit(28);
    return which ? first : NULL;
}

static void nothing(void) {}

int main(int argc, char **argv)
{
    int i, total = 0;
    struct pair p;
    /* no statement yet */
#ifdef NEVER_DEFINED
    int more;
#endif
    atexit(report);
    for (i = 0; i < 40; i++) {
        hit(29);
        total += nested_returns(i) + one_line(i % 2) + old_style(i, argv[0]) + macros(i * 5, "x");
        total += jumps(i) + without_braces(i % 6) + duff(i + 1) + into_the_middle(i) + conditional(i) + split(1, i);
        total += computed(i) + caught() + arrays(i);
        p = chooser(1)(i);
        total += p.a;
        nothing();
    }
    printf("total %d, line %s\n", total, argc > 1 ? "given" : "none");
    return total % 50;
}
