/* SPDX-License-Identifier: Apache-2.0
 *
 * program_ends WAY: a program that knows nothing of the pool, and ends or forks
 * with streams in every state.
 */
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static hipStream_t live;

static void Cycle(void) {
  for (int i = 0; i < 10; ++i) {
    hipStream_t a = NULL;
    hipStream_t b = NULL;
    if (hipStreamCreate(&a) != hipSuccess) abort();
    if (hipStreamCreateWithFlags(&b, hipStreamNonBlocking) != 0) abort();
    if (hipStreamDestroy(a) != hipSuccess) abort();
    if (hipStreamDestroy(b) != hipSuccess) abort();
  }
}

static void Use(void) {
  Cycle();
  if (hipStreamCreate(&live) != hipSuccess) abort();
}

static void DestroyLive(void) { printf("%d\n", hipStreamDestroy(live)); }

static void* UseAndExit(void* unused) {
  Use();
  exit(3);
  return unused;
}

/* What HIP does in a child is its affair; to end is all that this one does. */
static void Fork(int code) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid < 0) abort();
  if (pid == 0) {
    if (code == 0) exit(0);
    _exit(code);
  }
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) abort();
  printf("child: %d %d\n", WIFEXITED(status), WEXITSTATUS(status));
}

int main(int argc, char** argv) {
  const char* way = argc == 2 ? argv[1] : "";
  if (strcmp(way, "LiveStreams") == 0) {
    Use();
  } else if (strcmp(way, "QuickExit") == 0) {
    Use();
    fflush(stdout);
    quick_exit(4);
  } else if (strcmp(way, "ExitFromAThread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, UseAndExit, NULL) != 0) abort();
    pthread_join(thread, NULL);
  } else if (strcmp(way, "HandlerDestroys") == 0) {
    /* Added after HIP has started: runs before HIP ends. */
    Use();
    atexit(DestroyLive);
  } else if (strcmp(way, "ForkBeforeUse") == 0) {
    Fork(0);
    Fork(5);
    Use();
  } else if (strcmp(way, "ForkAfterUse") == 0) {
    Use();
    Fork(5);
    Cycle();
    DestroyLive();
    Fork(6);
  } else if (strcmp(way, "ChildUses") == 0) {
    const pid_t pid = fork();
    if (pid < 0) abort();
    Use();
    DestroyLive();
    if (pid == 0) return 7;
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) abort();
    printf("child: %d %d\n", WIFEXITED(status), WEXITSTATUS(status));
  } else if (strcmp(way, "NothingUsed") != 0) {
    fprintf(stderr, "usage: program_ends WAY\n");
    return 2;
  }
  printf("end\n");
  return 0;
}
