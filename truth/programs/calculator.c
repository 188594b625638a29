/* Formulas, compiled to code for a stack machine and evaluated for many values: small functions under two drivers. */
#include "truth_log.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { FORMULAS = 64, LONGEST = 400, ROWS = 400 };
enum code { PUSH, VARIABLE, ADD, SUBTRACT, MULTIPLY, DIVIDE, ROOT };

struct program {
    int length;
    struct {
        enum code code;
        double value;
    } op[LONGEST];
};

static char formula[FORMULAS][8 * LONGEST];
static struct program program[FORMULAS];
static double stack[LONGEST];
static int top;
static const char *cursor;
static uint32_t seed = 5;

static unsigned random_below(unsigned limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % limit;
}

/* Grows a formula by wrapping it, so that it nests. */
static void write_formula(char *text)
{
    char old[8 * LONGEST];
    strcpy(text, "x");
    for (int i = 0; i < 90; i++) {
        strcpy(old, text);
        switch (random_below(3)) {
        case 0:
            snprintf(text, sizeof old, "(%.3000s)%c%u.5", old, "+-"[random_below(2)], random_below(90));
            break;
        case 1:
            snprintf(text, sizeof old, "%.3000s%cx", old, "+*-/"[random_below(4)]);
            break;
        default:
            snprintf(text, sizeof old, "r(%.3000s)", old);
        }
    }
}

KEPT static void emit(struct program *p, enum code code, double value)
{
    p->op[p->length].code = code;
    p->op[p->length++].value = value;
}

KEPT static double read_number(void)
{
    double value = 0, place = 1;
    for (; *cursor >= '0' && *cursor <= '9'; cursor++)
        value = 10 * value + (*cursor - '0');
    if (*cursor == '.')
        for (cursor++; *cursor >= '0' && *cursor <= '9'; cursor++)
            value += (*cursor - '0') * (place /= 10);
    return value;
}

static void parse_sum(struct program *p);

KEPT static void parse_factor(struct program *p)
{
    if (*cursor == '(' || *cursor == 'r') {
        int root = *cursor == 'r';
        cursor += 1 + root;
        parse_sum(p);
        cursor++;
        if (root)
            emit(p, ROOT, 0);
    } else if (*cursor == 'x') {
        cursor++;
        emit(p, VARIABLE, 0);
    } else {
        emit(p, PUSH, read_number());
    }
}

KEPT static void parse_product(struct program *p)
{
    parse_factor(p);
    while (*cursor == '*' || *cursor == '/') {
        enum code code = *cursor++ == '*' ? MULTIPLY : DIVIDE;
        parse_factor(p);
        emit(p, code, 0);
    }
}

KEPT static void parse_sum(struct program *p)
{
    parse_product(p);
    while (*cursor == '+' || *cursor == '-') {
        enum code code = *cursor++ == '+' ? ADD : SUBTRACT;
        parse_product(p);
        emit(p, code, 0);
    }
}

KEPT static void compile_all(void)
{
    for (int i = 0; i < FORMULAS; i++) {
        cursor = formula[i];
        program[i].length = 0;
        parse_sum(&program[i]);
    }
}

KEPT static void push(double value)
{
    stack[top++] = value;
}
KEPT static double pop(void)
{
    return stack[--top];
}
KEPT static void add(void)
{
    push(pop() + pop());
}
KEPT static void subtract(void)
{
    push(-pop() + pop());
}
KEPT static void multiply(void)
{
    push(fmin(pop() * pop(), 1e6));
}
KEPT static void divide(void)
{
    push(1 / (1e-3 + fabs(pop())) * pop());
}
KEPT static void root(void)
{
    push(sqrt(fabs(pop())));
}

KEPT static double evaluate_table(const struct program *p)
{
    static void (*const operation[])(void) = {
        [ADD] = add, [SUBTRACT] = subtract, [MULTIPLY] = multiply, [DIVIDE] = divide, [ROOT] = root};
    double sum = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < p->length; i++)
            if (p->op[i].code <= VARIABLE)
                push(p->op[i].code == PUSH ? p->op[i].value : 0.01 * row);
            else
                operation[p->op[i].code]();
        sum += pop();
    }
    return sum;
}

int main(int argc, char **argv)
{
    double scale = scale_argument(argc, argv), sum = 0;
    for (int i = 0; i < FORMULAS; i++)
        write_formula(formula[i]);
    truth_phase("compile");
    for (int round = 0; round < 1 + (int)(7000 * scale); round++)
        compile_all();
    truth_phase("evaluate");
    for (int round = 0; round < 1 + (int)(25 * scale); round++)
        for (int i = 0; i < FORMULAS; i++)
            sum += evaluate_table(&program[i]);
    truth_end();
    printf("calculator: %.9g\n", sum);
    return 0;
}
