// See thread_pool.h.
//
// A region is published by writing `job_`, setting `pending_` to the number of parts and raising
// `epoch_`. Part w belongs to worker w, but whoever moves slots_[w].taken from epoch - 1 to epoch
// runs it: a worker that wakes up late finds its part taken and never looks at a job that is over.
// The caller waits until `pending_` is zero, so `job_` is stable while any part is running.
#include "lib/support/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <fstream>
#include <system_error>

#include "lib/support/denormals.h"

namespace hlo {
namespace {

thread_local int current_worker = 0;
thread_local bool in_region = false;

// Marks this thread as running a part.
class ScopedRegion final {
 public:
  explicit ScopedRegion(int worker) : saved_worker_(current_worker), saved_in_(in_region) {
    current_worker = worker;
    in_region = true;
  }
  ~ScopedRegion() {
    current_worker = saved_worker_;
    in_region = saved_in_;
  }
  ScopedRegion(const ScopedRegion&) = delete;
  ScopedRegion& operator=(const ScopedRegion&) = delete;

 private:
  int saved_worker_;
  bool saved_in_;
};

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Sleeps while `word` holds `value`; may return early.
void FutexWait(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

int ProcessorsOfProcess() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    const int count = CPU_COUNT(&set);
    if (count > 0) return count;
  }
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

// Bytes of address space that this process has, from /proc; 0 where that says nothing.
int64_t AddressSpaceInUse() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// How many threads may run under the limit of the address space (`ulimit -v`). A thread takes its
// stack and, once it allocates, 64 MiB of glibc's malloc; threads that took all there is would
// leave the next allocation of the program itself nothing, so they get half of what is left.
int ThreadsThatFit(int wanted) {
  constexpr int64_t kArena = int64_t{64} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  pthread_attr_t attributes;
  size_t stack = size_t{8} << 20;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &stack);
    pthread_attr_destroy(&attributes);
  }
  const auto most = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
  const int64_t left = std::max<int64_t>(most - AddressSpaceInUse(), 0);
  const int64_t others = left / 2 / (static_cast<int64_t>(stack) + kArena);
  return static_cast<int>(std::min<int64_t>(wanted, 1 + others));
}

// Spins until `done()` or until `limit` nanoseconds are over. On a machine with more runnable
// threads than processors a spinning thread is preempted; that shows as a jump of the clock and
// ends the spin.
template <class Done>
bool SpinUntil(int64_t limit, Done done) {
  constexpr int kPausesPerLook = 32;
  constexpr int64_t kPreempted = 1'000'000;
  if (done()) return true;
  const int64_t start = Now();
  int64_t last = start;
  while (true) {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (done()) return true;
      Pause();
    }
    const int64_t now = Now();
    if (now - start > limit || now - last > kPreempted) return done();
    last = now;
  }
}

}  // namespace

int ThreadPool::CurrentWorker() { return current_worker; }
bool ThreadPool::InRegion() { return in_region; }

ThreadPool::ThreadPool(Options options)
    : size_(ThreadsThatFit(options.threads > 0 ? options.threads : ProcessorsOfProcess())),
      spin_nanoseconds_(int64_t{1000} * options.spin_microseconds),
      slots_(std::make_unique<Slot[]>(static_cast<size_t>(size_))) {
  threads_.reserve(static_cast<size_t>(size_ - 1));
  for (int w = 1; w < size_; ++w) {
    try {
      threads_.emplace_back([this, w] { WorkerLoop(w); });
    } catch (const std::system_error&) {  // the system gives no more: fewer workers do it
      size_ = w;
    }
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  FutexWake(epoch_, INT_MAX);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::ParallelFor(int64_t tasks, TaskFn fn, void* context) {
  if (tasks <= 0) return;
  if (tasks == 1 || size_ == 1 || in_region) {
    for (int64_t task = 0; task < tasks; ++task) fn(context, task, current_worker);
    return;
  }
  const int parts = tasks < size_ ? static_cast<int>(tasks) : size_;
  Run({fn, context, tasks, parts, Mode::kStatic});
}

void ThreadPool::ParallelForDynamic(int64_t tasks, TaskFn fn, void* context) {
  if (tasks <= 0) return;
  if (tasks == 1 || size_ == 1 || in_region) {
    for (int64_t task = 0; task < tasks; ++task) fn(context, task, current_worker);
    return;
  }
  const int parts = tasks < size_ ? static_cast<int>(tasks) : size_;
  Run({fn, context, tasks, parts, Mode::kDynamic});
}

void ThreadPool::RunTogether(int workers, TaskFn fn, void* context) {
  if (workers <= 0) return;
  if (workers == 1) {
    ScopedRegion region(current_worker);
    fn(context, 0, 0);
    return;
  }
  Run({fn, context, workers, workers, Mode::kTogether});
}

void ThreadPool::Run(const Job& job) {
  std::lock_guard<std::mutex> turn(turn_);
  job_ = job;
  job_.float_control = FloatControl();
  job_.lines = CrashLine::Innermost();
  next_task_.store(0, std::memory_order_relaxed);
  pending_.store(static_cast<uint32_t>(job.parts), std::memory_order_relaxed);
  // The caller's part and the parts nobody needs count as taken from the start, so that every slot
  // is at `epoch` when the region ends. No worker touches these slots before the epoch is out.
  const uint32_t epoch = epoch_.load(std::memory_order_relaxed) + 1;
  slots_[0].taken.store(epoch, std::memory_order_relaxed);
  for (int w = job.parts; w < size_; ++w) slots_[w].taken.store(epoch, std::memory_order_relaxed);
  epoch_.store(epoch);  // sequentially consistent: see AwaitEpoch
  if (sleepers_.load() != 0) FutexWake(epoch_, INT_MAX);

  RunPart(0, 0);
  FinishPart();
  if (job.mode != Mode::kTogether) {
    for (int part = 1; part < job.parts; ++part) {
      if (!Take(part, epoch)) continue;
      RunPart(part, 0);
      FinishPart();
    }
  }
  AwaitWorkers();
}

// Claims `part` of region `epoch` for this thread.
bool ThreadPool::Take(int part, uint32_t epoch) {
  uint32_t before = epoch - 1;
  return slots_[part].taken.compare_exchange_strong(before, epoch);
}

void ThreadPool::RunPart(int part, int worker) {
  const Job& job = job_;
  ScopedRegion region(worker);
  const CrashLinesOfOther lines(job.lines);
  switch (job.mode) {
    case Mode::kStatic: {
      const int64_t begin = job.tasks * part / job.parts;
      const int64_t end = job.tasks * (part + 1) / job.parts;
      for (int64_t task = begin; task < end; ++task) job.fn(job.context, task, worker);
      return;
    }
    case Mode::kDynamic: {
      int64_t task;
      while ((task = next_task_.fetch_add(1, std::memory_order_relaxed)) < job.tasks) {
        job.fn(job.context, task, worker);
      }
      return;
    }
    case Mode::kTogether: job.fn(job.context, part, worker); return;
  }
}

void ThreadPool::FinishPart() {
  if (pending_.fetch_sub(1) == 1 && caller_sleeps_.load() != 0) FutexWake(pending_, 1);
}

// Waits until every part is finished.
void ThreadPool::AwaitWorkers() {
  const auto done = [this] { return pending_.load(std::memory_order_acquire) == 0; };
  if (SpinUntil(spin_nanoseconds_, done)) return;
  caller_sleeps_.store(1);
  while (true) {
    const uint32_t pending = pending_.load();
    if (pending == 0) break;
    FutexWait(pending_, pending);
  }
  caller_sleeps_.store(0);
}

// Waits for an epoch other than `seen`. A sleeper first announces itself and then looks again; the
// caller first raises the epoch and then looks for sleepers; so one of them notices the other.
uint32_t ThreadPool::AwaitEpoch(uint32_t seen) {
  const auto changed = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  if (!SpinUntil(spin_nanoseconds_, changed)) {
    sleepers_.fetch_add(1);
    while (epoch_.load() == seen) FutexWait(epoch_, seen);
    sleepers_.fetch_sub(1);
  }
  return epoch_.load(std::memory_order_acquire);
}

void ThreadPool::WorkerLoop(int worker) {
  const CrashStack stack;
  const uint32_t own_control = FloatControl();
  uint32_t control = own_control;
  uint32_t epoch = 0;
  while (true) {
    epoch = AwaitEpoch(epoch);
    if (stop_.load()) return;
    if (!Take(worker, epoch)) continue;  // the caller was faster, or there is no part for us
    if (job_.float_control != control) {
      control = job_.float_control;
      SetFloatControl(control);
    }
    RunPart(worker, worker);
    FinishPart();
  }
}

}  // namespace hlo
