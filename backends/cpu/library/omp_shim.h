// backends/cpu/library/omp_shim.h
//
// Debian's oneDNN runs its parallel regions through six functions of libgomp. omp_shim.cc defines
// these functions in our executable, where the dynamic linker finds them before libgomp's, so that
// oneDNN runs on the thread pool of the run and no second set of threads exists.
//
// A thread says which pool serves the regions it starts; without one, regions have one thread.
#pragma once

#include <cstdint>

#include "lib/support/thread_pool.h"

namespace hlo::cpu {

// Serves the OpenMP regions that this thread starts from `pool`, until the end of the scope.
class ScopedOmpPool final {
 public:
  explicit ScopedOmpPool(ThreadPool& pool);
  ~ScopedOmpPool();
  ScopedOmpPool(const ScopedOmpPool&) = delete;
  ScopedOmpPool& operator=(const ScopedOmpPool&) = delete;

 private:
  ThreadPool* saved_pool_;
  int saved_threads_;
};

// Makes OpenMP report `threads` threads to this thread until the end of the scope, for creating
// primitives that will run on a pool of that size. No region may start inside.
class ScopedOmpThreads final {
 public:
  explicit ScopedOmpThreads(int threads);
  ~ScopedOmpThreads();
  ScopedOmpThreads(const ScopedOmpThreads&) = delete;
  ScopedOmpThreads& operator=(const ScopedOmpThreads&) = delete;

 private:
  int saved_threads_;
};

// Number of OpenMP regions served so far in this process.
int64_t OmpRegionCount();

}  // namespace hlo::cpu
