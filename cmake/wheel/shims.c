/* Functions that glibc got after 2.28, in terms of those that it had: see stubs.py. They are hidden in each library that
 * calls them, and stand in for glibc's own there. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* 2.32: false means that counters of references are atomic, which is always right. */
char __libc_single_threaded = 0;

/* 2.30. */
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

/* 2.33: before, calls went to these functions, which take the version of struct stat. */
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int file, struct stat* status);

enum { kStatVersion = 1 };

int stat(const char* path, struct stat* status) { return __xstat(kStatVersion, path, status); }
int lstat(const char* path, struct stat* status) { return __lxstat(kStatVersion, path, status); }
int fstat(int file, struct stat* status) { return __fxstat(kStatVersion, file, status); }

/* 2.30: a deadline by another clock is moved to the clock of the condition variable, which is the wall clock. Should that
 * be set meanwhile, the wait ends early or late by as much; callers wait in a loop. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* deadline) {
  enum { kNanoseconds = 1000000000 };
  struct timespec now;
  struct timespec wall;
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, deadline);
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0) return EINVAL;
  wall.tv_sec += deadline->tv_sec - now.tv_sec;
  wall.tv_nsec += deadline->tv_nsec - now.tv_nsec;
  if (wall.tv_nsec < 0) {
    wall.tv_nsec += kNanoseconds;
    --wall.tv_sec;
  } else if (wall.tv_nsec >= kNanoseconds) {
    wall.tv_nsec -= kNanoseconds;
    ++wall.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &wall);
}
