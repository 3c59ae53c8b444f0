#include "backends/cpu/background.h"

#include <condition_variable>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/common/thunk_profile.h"
#include "backends/cpu/arena.h"
#include "backends/cpu/library/omp_shim.h"
#include "lib/eval/communicator.h"
#include "lib/support/crash_context.h"
#include "lib/support/denormals.h"
#include "lib/support/status.h"
#include "lib/support/thread_pool.h"
#include "passes/util/background_calls.h"

namespace hlo::cpu {
namespace {

constexpr std::string_view kAnyThread = "background";
constexpr std::string_view kMeetings = "meeting";  // a thread for each

// Whether it is one thread, which the program has given a name.
bool IsNamed(std::string_view thread) { return thread != kAnyThread && thread != kMeetings; }

// A sequence that is started, again and again.
struct BackgroundTask {
  enum class Stage { kIdle, kQueued, kRunning, kDone };

  std::string_view thread;
  const ThunkList* body = nullptr;
  std::unique_ptr<CpuState> state;
  Arena scratch;
  uint32_t float_control = 0;
  std::optional<int64_t> clock;  // of the profile of the starter
  ThunkRecord record;            // for it
  absl::Status status;
  bool is_open = false;        // the starter has not waited for it yet
  Stage stage = Stage::kIdle;  // under the lock of the threads

  void Run();
  void RunOn(std::string_view track);
};

// How many sequences of a device may wait for other devices at the same time.
void CountSequences(const CpuState& state, int change) {
  if (state.communicator == nullptr) return;
  const int64_t partitions = state.communicator->mesh().partitions;
  state.communicator->AddThreads(state.replica_id * partitions + state.partition_id, change);
}

// With the settings of the starter.
void BackgroundTask::Run() {
  record = ThunkRecord();
  const uint32_t own_control = FloatControl();
  SetFloatControl(float_control);
  {
    const CrashLinesOfOther lines(state->lines);
    const ScopedOmpPool omp(*state->pool);
    HostStream stream;
    status = absl::OkStatus();
    for (const std::unique_ptr<Thunk>& thunk : *body) {
      status = state->IsCancelled() ? absl::CancelledError("")
                                    : ExecuteThunk(*thunk, *state, stream).status();
      if (!status.ok()) break;
    }
    if (state->background != nullptr) state->background->EndAll();
  }
  SetFloatControl(own_control);
  CountSequences(*state, -1);
}

// By a thread of its own.
void BackgroundTask::RunOn(std::string_view track) {
  if (!clock) return Run();
  ThunkProfile profile(track, clock);
  Run();
  record = profile.Take();
}

// The threads of a run, and of all that it starts.
class BackgroundThreads final {
 public:
  explicit BackgroundThreads(int unnamed) : unnamed_(unnamed) {}
  ~BackgroundThreads() {
    {
      const Lock lock(mutex_);
      stops_ = true;
      for (auto& [name, queue] : queues_) queue.changed.notify_all();
    }
    for (auto& [name, queue] : queues_) {
      for (std::thread& thread : queue.threads) thread.join();
    }
  }
  BackgroundThreads(const BackgroundThreads&) = delete;
  BackgroundThreads& operator=(const BackgroundThreads&) = delete;

  void Add(BackgroundTask& task) {
    const Lock lock(mutex_);
    Queue& queue = queues_[std::string(task.thread)];
    task.stage = BackgroundTask::Stage::kQueued;
    queue.tasks.push_back(&task);
    if (std::ssize(queue.tasks) > queue.idle && std::ssize(queue.threads) < MostOf(task.thread))
      AddThread(queue, task.thread);
    queue.changed.notify_one();
  }

  // Until it is done. `is_main`: the caller is the main sequence.
  void Await(BackgroundTask& task, bool is_main) {
    Lock lock(mutex_);
    const bool takes_it =
        !is_main || !IsNamed(task.thread) || queues_[std::string(task.thread)].threads.empty();
    if (takes_it && Unqueue(task)) {
      task.stage = BackgroundTask::Stage::kRunning;
      lock.unlock();
      task.Run();
      lock.lock();
    } else {
      finished_.wait(lock, [&task] { return task.stage == BackgroundTask::Stage::kDone; });
    }
    task.stage = BackgroundTask::Stage::kIdle;
  }

  // It is not begun any more; if it is, until it is done.
  void End(BackgroundTask& task) {
    Lock lock(mutex_);
    if (Unqueue(task)) return CountSequences(*task.state, -1);
    if (task.stage == BackgroundTask::Stage::kIdle) return;
    finished_.wait(lock, [&task] { return task.stage == BackgroundTask::Stage::kDone; });
    task.stage = BackgroundTask::Stage::kIdle;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Queue {
    std::deque<BackgroundTask*> tasks;
    std::vector<std::thread> threads;
    int64_t idle = 0;
    std::condition_variable changed;
  };

  int64_t MostOf(std::string_view thread) const {
    if (thread == kMeetings) return std::numeric_limits<int64_t>::max();
    return thread == kAnyThread ? unnamed_ : 1;
  }

  // Whether it was waiting there.
  bool Unqueue(BackgroundTask& task) {
    if (task.stage != BackgroundTask::Stage::kQueued) return false;
    std::erase(queues_[std::string(task.thread)].tasks, &task);
    task.stage = BackgroundTask::Stage::kIdle;
    return true;
  }

  void AddThread(Queue& queue, std::string_view name) {
    std::string track(name);
    if (!IsNamed(name)) track += fmt::format(" {}", queue.threads.size() + 1);
    try {
      queue.threads.emplace_back([this, &queue, track] { Work(queue, track); });
    } catch (const std::system_error&) {  // the system gives no more: who waits does the work
    }
  }

  void Work(Queue& queue, const std::string& track) {
    const CrashStack stack;
    Lock lock(mutex_);
    while (true) {
      ++queue.idle;
      queue.changed.wait(lock, [&] { return stops_ || !queue.tasks.empty(); });
      --queue.idle;
      if (stops_) return;
      BackgroundTask& task = *queue.tasks.front();
      queue.tasks.pop_front();
      task.stage = BackgroundTask::Stage::kRunning;
      lock.unlock();
      task.RunOn(track);
      lock.lock();
      task.stage = BackgroundTask::Stage::kDone;
      finished_.notify_all();
    }
  }

  const int unnamed_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::map<std::string, Queue> queues_;  // by thread
  bool stops_ = false;
};

class BackgroundStart final : public ControlThunk {
 public:
  BackgroundStart(const Instruction& start, std::vector<ThunkList> body)
      : ControlThunk(start.name(), std::move(body)), start_(start) {}
  std::string_view kind() const override { return "async-start"; }
  int64_t scratch_bytes() const override { return 0; }  // the body has its own
  void ForgetOperands(DeviceState& state) const override {
    const Background* const background = static_cast<CpuState&>(state).background.get();
    CpuState* const inner = background == nullptr ? nullptr : background->StateOf(start_);
    if (inner != nullptr) hlo::ForgetOperands(list(0), *inner);
  }
  absl::StatusOr<ExecuteEvent> Execute(DeviceState& state, Stream& /*stream*/) const override {
    auto& cpu = static_cast<CpuState&>(state);
    if (cpu.background == nullptr) cpu.background = std::make_unique<Background>(cpu);
    RETURN_IF_ERROR(cpu.background->Start(start_, list(0)));
    return ExecuteEvent();
  }
  void AppendTo(std::string& out, int indent) const override {
    out += std::string(static_cast<size_t>(indent) * 2, ' ') +
           fmt::format("async-start {} thread={}\n", name(),
                       start_.attrs<AsyncAttrs>().async_execution_thread);
    for (const auto& thunk : list(0)) thunk->AppendTo(out, indent + 1);
  }

 private:
  const Instruction& start_;
};

class BackgroundDone final : public CpuThunk {
 public:
  BackgroundDone(const Instruction& start, const Instruction& done,
                 std::vector<BufferSlice> results)
      : CpuThunk(done.name()), start_(start), done_(done), results_(std::move(results)) {}
  std::string_view kind() const override { return "async-done"; }
  BufferUses uses() const override { return {.reads = {}, .writes = results_}; }

 protected:
  absl::Status Run(CpuState& state) const override {
    if (state.background == nullptr) state.background = std::make_unique<Background>(state);
    return state.background->Await(start_, done_);
  }

 private:
  const Instruction& start_;
  const Instruction& done_;
  const std::vector<BufferSlice> results_;
};

}  // namespace

BackgroundPair MakeBackgroundPair(const Instruction& start, const Instruction& done, ThunkList body,
                                  std::vector<BufferSlice> results) {
  std::vector<ThunkList> lists;
  lists.push_back(std::move(body));
  return {std::make_unique<BackgroundStart>(start, std::move(lists)),
          std::make_unique<BackgroundDone>(start, done, std::move(results))};
}

// ---- what a sequence has started ----

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"  // of one file, also in a unit of several
struct Background::Members {
  CpuState& state;
  std::unique_ptr<BackgroundThreads> own;  // of the main sequence; goes last
  BackgroundThreads* threads = nullptr;
  std::map<const Instruction*, BackgroundTask> tasks;

  absl::StatusOr<BackgroundTask*> TaskOf(const Instruction& start, const ThunkList& body) {
    BackgroundTask& task = tasks[&start];
    if (task.state != nullptr) return &task;
    task.thread = start.attrs<AsyncAttrs>().async_execution_thread;
    if (task.thread == kAnyThread && MeetsOthers(*start.call(0))) task.thread = kMeetings;
    task.body = &body;
    ASSIGN_OR_RETURN(task.scratch, Arena::Create(ScratchBytes(body)));
    task.state = state.MakeChild();
    task.state->starter = &state;
    task.state->scratch = task.scratch.data();
    task.state->pool = state.pool;
    task.state->kernels.resize(state.kernels.size());
    return &task;
  }
};
#pragma GCC diagnostic pop

Background::Background(CpuState& state) : members_(new Members{.state = state}) {
  if (state.starter != nullptr) {
    members_->threads = state.starter->background->members_->threads;
  } else {
    members_->own = std::make_unique<BackgroundThreads>(std::max(1, state.pool->size() - 1));
    members_->threads = members_->own.get();
  }
}

Background::~Background() { EndAll(); }

absl::Status Background::Start(const Instruction& start, const ThunkList& body) {
  ASSIGN_OR_RETURN(BackgroundTask* const task, members_->TaskOf(start, body));
  if (task->is_open)
    return Error(start.loc(), "`{}` starts again before anybody has waited for it", start.name());
  const CpuState& from = members_->state;
  CpuState& to = *task->state;
  to.max_loop_iterations = from.max_loop_iterations;
  to.replica_id = from.replica_id;
  to.partition_id = from.partition_id;
  to.communicator = from.communicator;
  to.addresses = from.addresses;
  to.evaluator.mutable_options() = from.evaluator.options();
  to.lines = from.lines;
  to.is_cancelled = false;
  task->float_control = FloatControl();
  task->clock = std::nullopt;
  if (const ThunkProfile* profile = ThunkProfile::Current(); profile != nullptr)
    task->clock = profile->clock();
  task->is_open = true;
  CountSequences(to, 1);
  members_->threads->Add(*task);
  return absl::OkStatus();
}

absl::Status Background::Await(const Instruction& start, const Instruction& done) {
  const auto at = members_->tasks.find(&start);
  if (at == members_->tasks.end() || !at->second.is_open)
    return Error(done.loc(), "`{}` waits for `{}`, which is not under way", done.name(),
                 start.name());
  BackgroundTask& task = at->second;
  CountSequences(members_->state, -1);
  members_->threads->Await(task, members_->state.starter == nullptr);
  CountSequences(members_->state, 1);
  task.is_open = false;
  if (ThunkProfile* const profile = ThunkProfile::Current(); profile != nullptr)
    profile->Adopt(task.record);
  return task.status;
}

void Background::EndAll() {
  for (auto& [start, task] : members_->tasks) {
    if (task.state != nullptr) task.state->is_cancelled = true;
  }
  // What others wait for is not to come from this sequence any more.
  CountSequences(members_->state, -1);
  for (auto& [start, task] : members_->tasks) {
    if (task.is_open) members_->threads->End(task);
    task.is_open = false;
  }
  CountSequences(members_->state, 1);
}

CpuState* Background::StateOf(const Instruction& start) const {
  const auto at = members_->tasks.find(&start);
  return at == members_->tasks.end() ? nullptr : at->second.state.get();
}

}  // namespace hlo::cpu
