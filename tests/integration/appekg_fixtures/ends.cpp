// Beats where a program and its threads end: of id 1 in atexit, 2 in an object's destructor, 3 in a destructor
// function, 4 in a thread-local object's destructor, 5 in that of a thread's key, 6 in that of main's thread-local
// object.
#include <cstdlib>
#include <pthread.h>
#include <thread>

#include "appekg.h"

static void beat(uint32_t id)
{
    const appekg::Scope scope(id);
}

struct Beats {
    explicit Beats(uint32_t id) : id_(id) {}
    ~Beats()
    {
        beat(id_);
    }
    void touch() {}
    uint32_t id_;
};

static Beats global(2);
thread_local Beats of_main(6);

static void run()
{
    thread_local Beats of_thread(4);
    of_thread.touch();
    beat(10);
}

static void at_exit()
{
    beat(1);
}

static void key_destructor(void *id)
{
    beat(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(id)));
}

__attribute__((destructor)) static void destructor_function()
{
    beat(3);
}

int main()
{
    pthread_key_t before, after;
    pthread_key_create(&before, key_destructor);
    beat(10);
    pthread_key_create(&after, key_destructor);
    of_main.touch();
    std::atexit(at_exit);
    std::thread([=] {
        pthread_setspecific(before, reinterpret_cast<void *>(5));
        pthread_setspecific(after, reinterpret_cast<void *>(5));
        run();
    }).join();
    return 42;
}
