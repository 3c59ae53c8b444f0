// See omp_shim.h. The functions at the end have libgomp's names and calling conventions.
#include "backends/cpu/library/omp_shim.h"

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace hlo::cpu {
namespace {

std::atomic<int64_t> region_count{0};

// One parallel region: who takes part, and the barrier between them.
struct Team {
  void (*fn)(void*);
  void* data;
  int size;
  std::atomic<int> arrived{0};
  std::atomic<int> phase{0};
};

struct ThreadState {
  ThreadPool* pool = nullptr;  // serves the regions of this thread
  int max_threads = 1;
  Team* team = nullptr;  // region this thread takes part in
  int number = 0;        // its number there
};

thread_local ThreadState state;

// Runs the region as member `number` of `team`.
void RunMember(Team& team, int number) {
  Team* const outer_team = state.team;
  const int outer_number = state.number;
  state.team = &team;
  state.number = number;
  team.fn(team.data);
  state.team = outer_team;
  state.number = outer_number;
}

// Members wait for each other, so all of them must run at once. The pool of the run is made for
// that; a primitive that was created for more threads than the pool has gets threads of its own,
// once per call.
void RunTeam(Team& team) {
  if (state.pool != nullptr && team.size <= state.pool->size()) {
    auto member = [](void* context, int64_t number, int) {
      RunMember(*static_cast<Team*>(context), static_cast<int>(number));
    };
    state.pool->RunTogether(team.size, member, &team);
    return;
  }
  std::vector<std::thread> others;
  for (int number = 1; number < team.size; ++number) {
    others.emplace_back([&team, number] { RunMember(team, number); });
  }
  RunMember(team, 0);
  for (std::thread& other : others) other.join();
}

bool InParallel() {
  return (state.team != nullptr && state.team->size > 1) || ThreadPool::InRegion();
}

}  // namespace

ScopedOmpPool::ScopedOmpPool(ThreadPool& pool)
    : saved_pool_(state.pool), saved_threads_(state.max_threads) {
  state.pool = &pool;
  state.max_threads = pool.size();
}

ScopedOmpPool::~ScopedOmpPool() {
  state.pool = saved_pool_;
  state.max_threads = saved_threads_;
}

ScopedOmpThreads::ScopedOmpThreads(int threads) : saved_threads_(state.max_threads) {
  state.max_threads = threads < 1 ? 1 : threads;
}

ScopedOmpThreads::~ScopedOmpThreads() { state.max_threads = saved_threads_; }

int64_t OmpRegionCount() { return region_count.load(std::memory_order_relaxed); }

}  // namespace hlo::cpu

#define HLO_OMP_EXPORT extern "C" __attribute__((visibility("default"), used))

HLO_OMP_EXPORT void GOMP_parallel(void (*fn)(void*), void* data, unsigned threads, unsigned) {
  using namespace hlo::cpu;
  region_count.fetch_add(1, std::memory_order_relaxed);
  Team team{fn, data, threads == 0 ? state.max_threads : static_cast<int>(threads)};
  if (team.size <= 1 || InParallel()) {
    team.size = 1;
    RunMember(team, 0);
    return;
  }
  RunTeam(team);
}

HLO_OMP_EXPORT void GOMP_barrier() {
  using namespace hlo::cpu;
  Team* const team = state.team;
  if (team == nullptr || team->size == 1) return;
  const int phase = team->phase.load();
  if (team->arrived.fetch_add(1) + 1 == team->size) {
    team->arrived.store(0);
    team->phase.store(phase + 1);
    return;
  }
  constexpr int kSpins = 2000;  // then give way: the others may need this processor
  for (int spins = 0; team->phase.load(std::memory_order_acquire) == phase; ++spins) {
    if (spins > kSpins) sched_yield();
  }
}

HLO_OMP_EXPORT int omp_get_max_threads() { return hlo::cpu::state.max_threads; }

HLO_OMP_EXPORT int omp_get_num_threads() {
  using namespace hlo::cpu;
  return state.team == nullptr ? 1 : state.team->size;
}

HLO_OMP_EXPORT int omp_get_thread_num() { return hlo::cpu::state.number; }

HLO_OMP_EXPORT int omp_in_parallel() { return hlo::cpu::InParallel() ? 1 : 0; }
