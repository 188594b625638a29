/* The program that simulated ranks seem to run: it is compiled for its symbols, lines and call instructions, and never
 * run. story.py says which of its call paths are on the CPU in which phase. */

enum { N = 1024 };
static double a[N], b[N], c[N];

void MPI_Allreduce(void);
void MPI_Bcast(void);
void MPI_File_write_all(void);
void MPI_Probe(void);
void MPI_Recv(void);
void MPI_Send(void);
void MPI_Waitall(void);

#define LEAF(name, expression) \
    void name(void)            \
    {                          \
        for (int i = 1; i < N - 1; i++) \
            a[i] = expression; \
    }

LEAF(read_mesh, b[i] + i * 0.25 - c[i - 1])
LEAF(partition, b[i] > c[i] ? a[i - 1] : a[i + 1])
LEAF(element_matrix, b[i] * c[i] + b[i - 1] * c[i + 1] - a[i])
LEAF(scatter_add, a[i] + b[(i * 7) % N] + c[i])
LEAF(spmv, a[i] + b[i] * c[(i * 31) % N])
LEAF(precondition, b[i] / (1.0 + c[i] * c[i]))
LEAF(flux, (b[i + 1] - b[i - 1]) * 0.5 * c[i])
LEAF(limiter, b[i] < 0 ? 0 : b[i] > c[i] ? c[i] : b[i])
LEAF(pack, b[i] + 2 * a[i])
LEAF(compress_block, (double)((long)b[i] ^ (long)c[i - 1]))
LEAF(write_block, b[i] - a[i - 1])
LEAF(schedule, b[i] + (c[i] > a[i]))

void dot_product(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += b[i] * c[i];
    a[0] = sum;
    MPI_Allreduce();
}

void exchange_halo(void)
{
    for (int i = 0; i < N; i += 64)
        b[i] = c[i];
    MPI_Send();
    MPI_Waitall();
}

void setup(void)
{
    read_mesh();
    partition();
    MPI_Bcast();
}

void assemble(void)
{
    for (int i = 0; i < N; i++) {
        element_matrix();
        scatter_add();
    }
    exchange_halo();
}

void solve(void)
{
    for (int i = 0; i < 200; i++) {
        spmv();
        precondition();
        dot_product();
    }
}

void transport(void)
{
    for (int i = 0; i < 50; i++) {
        flux();
        limiter();
        exchange_halo();
    }
}

void step(void)
{
    assemble();
    solve();
    transport();
}

void checkpoint(void)
{
    for (int i = 0; i < N; i++)
        pack();
    MPI_File_write_all();
}

void io_server(void)
{
    for (int i = 0; i < N; i++) {
        MPI_Recv();
        compress_block();
        write_block();
    }
}

void master(void)
{
    for (int i = 0; i < N; i++) {
        MPI_Probe();
        schedule();
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    setup();
    if (argc == 2)
        io_server();
    if (argc == 3)
        master();
    for (int i = 0; i < N; i++) {
        step();
        if (i % 10 == 9)
            checkpoint();
    }
    return 0;
}
