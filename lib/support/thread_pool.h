// lib/support/thread_pool.h
//
// A fixed set of threads for fork-join work. The thread that starts a region is worker 0; the
// others spin for a short while after a region and then sleep on a futex.
//
//   pool.ParallelFor(rows, [&](int64_t row, int worker) { … });
//
// Guarantees
//  - ParallelFor splits the tasks into one contiguous range per worker, the same for every call
//    with the same number of tasks, so that data stay in the cache of the core that touched them. A
//    range whose worker has not woken up when the caller is done with its own is run by the caller.
//  - A region started inside a region (of any pool) runs serially in the thread that starts it.
//  - No allocation and no system call per region while the workers are awake.
//  - Workers run a region with the floating-point control word of the caller (denormals.h).
//  - Workers have the lines of the caller in the message of a crash (crash_context.h).
//  - Threads that share a pool take turns: one region at a time.
// Functions must not throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "lib/support/crash_context.h"

namespace hlo {

class ThreadPool final {
 public:
  using TaskFn = void (*)(void* context, int64_t task, int worker);

  struct Options {
    int threads = 0;              // including the caller; 0: one for each processor of the process
    int spin_microseconds = 100;  // how long a worker stays awake after a region
  };

  explicit ThreadPool(int threads) : ThreadPool(Options{threads}) {}
  explicit ThreadPool(Options options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Number of workers, the caller included; less than asked for where the system gives
  // no more threads.
  int size() const { return size_; }

  // Runs fn(context, task, worker) for every task in [0, tasks), split statically.
  void ParallelFor(int64_t tasks, TaskFn fn, void* context);

  // The same for a callable f(task, worker).
  template <class F>
  void ParallelFor(int64_t tasks, F&& f) {
    auto call = [](void* context, int64_t task, int worker) {
      (*static_cast<std::remove_reference_t<F>*>(context))(task, worker);
    };
    ParallelFor(tasks, call, Erase(f));
  }

  // Runs fn for every task; idle workers take the next one. For tasks of unlike or unknown length.
  void ParallelForDynamic(int64_t tasks, TaskFn fn, void* context);
  template <class F>
  void ParallelForDynamic(int64_t tasks, F&& f) {
    auto call = [](void* context, int64_t task, int worker) {
      (*static_cast<std::remove_reference_t<F>*>(context))(task, worker);
    };
    ParallelForDynamic(tasks, call, Erase(f));
  }

  // Calls f(begin, end, worker) on up to size() ranges that cover [0, count); none is shorter than
  // `grain` unless it is the only one, and all but the last are multiples of `grain`.
  template <class F>
  void ParallelRanges(int64_t count, int64_t grain, F&& f) {
    if (count <= 0) return;
    const int64_t grains = grain <= 1 ? count : (count / grain < 1 ? 1 : count / grain);
    const int64_t parts = grains < size_ ? grains : size_;
    if (parts == 1) return static_cast<void>(f(int64_t{0}, count, CurrentWorker()));
    const int64_t unit = grain < 1 ? 1 : grain;
    ParallelFor(parts, [&](int64_t part, int worker) {
      const int64_t begin = grains * part / parts * unit;
      const int64_t end = part + 1 == parts ? count : grains * (part + 1) / parts * unit;
      f(begin, end, worker);
    });
  }

  // Runs fn(context, w, w) for w in [0, workers) at the same time, each in a thread of its own, so
  // that they may wait for each other. Requires workers <= size() and no region around it.
  void RunTogether(int workers, TaskFn fn, void* context);

  // The worker number of this thread inside a region, 0 outside.
  static int CurrentWorker();

  // Whether this thread is inside a region of some pool.
  static bool InRegion();

 private:
  enum class Mode { kStatic, kDynamic, kTogether };

  // The region under way. Written by the caller before the epoch is published.
  struct Job {
    TaskFn fn = nullptr;
    void* context = nullptr;
    int64_t tasks = 0;
    int parts = 0;
    Mode mode = Mode::kStatic;
    uint32_t float_control = 0;
    const CrashLine* lines = nullptr;
  };

  // One per worker, on a cache line of its own: the last epoch whose part w somebody has taken.
  struct alignas(64) Slot {
    std::atomic<uint32_t> taken{0};
  };

  template <class F>
  static void* Erase(F& f) {
    return const_cast<void*>(static_cast<const void*>(std::addressof(f)));
  }

  void Run(const Job& job);
  void RunPart(int part, int worker);
  void FinishPart();
  bool Take(int part, uint32_t epoch);
  void WorkerLoop(int worker);
  uint32_t AwaitEpoch(uint32_t seen);
  void AwaitWorkers();

  int size_;
  int64_t spin_nanoseconds_;
  std::mutex turn_;  // one region at a time
  Job job_;
  std::unique_ptr<Slot[]> slots_;
  std::vector<std::thread> threads_;
  alignas(64) std::atomic<uint32_t> epoch_{0};  // futex of sleeping workers
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint32_t> pending_{0};  // futex of the waiting caller: unfinished parts
  std::atomic<uint32_t> caller_sleeps_{0};
  alignas(64) std::atomic<int64_t> next_task_{0};
};

}  // namespace hlo
