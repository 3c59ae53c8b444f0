#include "backends/gpu/sim/engine.h"

#include <algorithm>
#include <numeric>

#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr int kWarp = 32;

// A permutation of [0, count), other for each seed.
class Permutation {
 public:
  Permutation(int64_t count, uint64_t seed) : count_(count) {
    if (seed == 0 || count < 2) return;
    uint64_t mixed = (seed + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    mixed ^= mixed >> 29;
    offset_ = static_cast<int64_t>(mixed % static_cast<uint64_t>(count));
    step_ = static_cast<int64_t>((mixed >> 20) % static_cast<uint64_t>(count)) | 1;
    while (std::gcd(step_, count) != 1) step_ += 2;
    if (seed % 2 == 1) step_ = (count_ - step_ % count_) % count_;
    if (step_ == 0) step_ = 1;
  }
  int64_t operator()(int64_t i) const {
    return static_cast<int64_t>((static_cast<__int128>(i) * step_ + offset_) %
                                static_cast<__int128>(count_));
  }

 private:
  int64_t count_;
  int64_t step_ = 1;
  int64_t offset_ = 0;
};

std::string_view Text(ShadowProblem problem) {
  switch (problem) {
    case ShadowProblem::kReadAfterWrite: return "reads what thread {} of block {} has written";
    case ShadowProblem::kWriteAfterRead: return "overwrites what thread {} of block {} has read";
    case ShadowProblem::kWriteAfterWrite:
      return "overwrites what thread {} of block {} has written";
    case ShadowProblem::kUninitialised: return "reads shared memory that no thread has written";
  }
  return "";
}

std::string Describe(const ShadowFinding& finding, std::string_view space) {
  if (finding.problem == ShadowProblem::kUninitialised) return std::string(Text(finding.problem));
  return fmt::format(
      "{}, with no barrier in between (a race in {} memory)",
      fmt::format(fmt::runtime(Text(finding.problem)), finding.other_thread, finding.other_block),
      space);
}

}  // namespace

// ---- launches and blocks ----

absl::Status SimEngine::Run(const SimLaunch& launch) {
  launch_ = &launch;
  fault_ = absl::OkStatus();
  const int64_t blocks = launch.dims.grid[0] * launch.dims.grid[1] * launch.dims.grid[2];
  const int threads = launch.dims.block;
  use_fibers_ = launch.info->needs_fibers || launch.sanitize;
  if (use_fibers_) RETURN_IF_ERROR(fibers_.Reserve(threads));
  RET_CHECK(!launch.info->needs_fibers || threads % kWarp == 0,
            "kernel `{}` works with warps, but has {} threads per block", launch.name, threads);
  threads_.resize(static_cast<size_t>(threads));
  argument_values_.clear();
  for (const KernelArgument& argument : launch.arguments)
    argument_values_.push_back(argument.value);
  constexpr int64_t kSharedAlignment = 256;
  shared_memory_.resize(static_cast<size_t>(launch.info->shared_bytes + kSharedAlignment));
  const auto raw = reinterpret_cast<uint64_t>(shared_memory_.data());
  shared_ = shared_memory_.data() +
            (RoundUp(static_cast<int64_t>(raw), kSharedAlignment) - static_cast<int64_t>(raw));
  if (launch.sanitize) global_shadow_.Reset(launch.arguments, launch.info->global_granule);
  const Permutation thread_order(threads, launch.seed);
  order_.clear();
  for (int i = 0; i < threads; ++i) order_.push_back(static_cast<int>(thread_order(i)));
  const Permutation block_order(blocks, launch.seed);
  for (int64_t i = 0; i < blocks; ++i) {
    RETURN_IF_ERROR(use_fibers_ ? RunBlock(block_order(i)) : RunPlain(block_order(i)));
  }
  return absl::OkStatus();
}

void SimEngine::SetUp(SimThread& thread, int index, int64_t block) {
  thread = SimThread();
  thread.tid[0] = index;
  const auto& grid = launch_->dims.grid;
  thread.ctaid[0] = static_cast<int32_t>(block % grid[0]);
  thread.ctaid[1] = static_cast<int32_t>(block / grid[0] % grid[1]);
  thread.ctaid[2] = static_cast<int32_t>(block / (grid[0] * grid[1]));
  thread.ntid[0] = launch_->dims.block;
  thread.ntid[1] = thread.ntid[2] = 1;
  for (int d = 0; d < 3; ++d) thread.nctaid[d] = static_cast<int32_t>(grid[d]);
  thread.shared = shared_;
  thread.engine = this;
  thread.index = index;
}

absl::Status SimEngine::RunPlain(int64_t block) {
  SimThread& thread = threads_[0];
  for (const int index : order_) {
    SetUp(thread, index, block);
    launch_->entry(argument_values_.data(), &thread);
  }
  return absl::OkStatus();
}

void SimEngine::Entry(void* argument) {
  auto& thread = *static_cast<SimThread*>(argument);
  SimEngine& engine = *thread.engine;
  engine.launch_->entry(engine.argument_values_.data(), &thread);
  thread.state = SimThread::State::kEnded;
  engine.fibers_.Yield(thread.index);
}

absl::Status SimEngine::RunBlock(int64_t block) {
  block_ = block;
  epoch_ = 0;
  // Other bytes for each block: what a kernel reads before it writes shows.
  std::fill(shared_memory_.begin(), shared_memory_.end(), std::byte{0xff});
  if (launch_->sanitize)
    shared_shadow_.Reset(launch_->info->shared_bytes, launch_->info->shared_granule);
  const auto count = static_cast<int>(threads_.size());
  for (int i = 0; i < count; ++i) {
    SetUp(threads_[static_cast<size_t>(i)], i, block);
    fibers_.Prepare(i, &Entry, &threads_[static_cast<size_t>(i)]);
  }
  while (true) {
    bool ended = true;
    for (const int i : order_) {
      SimThread& thread = threads_[static_cast<size_t>(i)];
      if (thread.state == SimThread::State::kReady) fibers_.Resume(i);
      if (!fault_.ok()) return fault_;
      ended = ended && thread.state == SimThread::State::kEnded;
    }
    if (ended) return absl::OkStatus();
    if (!ReleaseWarps() && !ReleaseBarrier()) return Stuck();
  }
}

// ---- barriers and warps ----

void SimEngine::Barrier(SimThread& thread, int32_t threads, int32_t site) {
  thread.state = SimThread::State::kAtBarrier;
  thread.value = static_cast<uint32_t>(threads);
  thread.site = site;
  fibers_.Yield(thread.index);
}

bool SimEngine::ReleaseBarrier() {
  for (const SimThread& thread : threads_) {
    if (thread.state != SimThread::State::kAtBarrier || thread.site != threads_[0].site ||
        thread.value != 0)
      return ReleaseSome();
  }
  for (SimThread& thread : threads_) thread.state = SimThread::State::kReady;
  ++epoch_;
  return true;
}

// A barrier of some threads, if as many wait there as should.
bool SimEngine::ReleaseSome() {
  for (const SimThread& first : threads_) {
    if (first.state != SimThread::State::kAtBarrier || first.value == 0) continue;
    const auto waits = [&first](const SimThread& thread) {
      return thread.state == SimThread::State::kAtBarrier && thread.site == first.site;
    };
    if (std::count_if(threads_.begin(), threads_.end(), waits) != first.value) continue;
    const int32_t site = first.site;
    for (SimThread& thread : threads_) {
      if (thread.state == SimThread::State::kAtBarrier && thread.site == site)
        thread.state = SimThread::State::kReady;
    }
    ++epoch_;
    return true;
  }
  return false;
}

uint32_t SimEngine::Warp(SimThread& thread, WarpOp op, uint32_t mask, uint32_t value,
                         uint32_t operand, int32_t site) {
  thread.state = SimThread::State::kInWarp;
  thread.kind = static_cast<int32_t>(op);
  thread.mask = mask;
  thread.value = value;
  thread.operand = operand;
  thread.site = site;
  fibers_.Yield(thread.index);
  return thread.value;
}

void SimEngine::Tensor(SimThread& thread, TensorOp op, TensorPayload* payload, int32_t site) {
  if (launch_->sanitize && LoadsMatrix(op)) {
    constexpr int32_t kRowBytes = 16;
    const uint64_t address = payload->in[0] | static_cast<uint64_t>(payload->in[1]) << 32;
    CheckAligned(thread, address, kRowBytes, site);
    CheckShared(thread, address, kRowBytes, SimAccess::kRead, site);
  }
  thread.payload = payload;
  Warp(thread, static_cast<WarpOp>(op), ~0u, 0, 0, site);
  thread.payload = nullptr;
}

bool SimEngine::ReleaseWarps() {
  bool any = false;
  for (size_t first = 0; first < threads_.size(); first += kWarp) {
    const SimThread* waiting = nullptr;
    for (size_t i = first; i < first + kWarp; ++i) {
      if (threads_[i].state == SimThread::State::kInWarp) waiting = &threads_[i];
    }
    if (waiting == nullptr) continue;
    bool complete = true;
    for (size_t lane = 0; lane < kWarp; ++lane) {
      if ((waiting->mask >> lane & 1) == 0) continue;
      const SimThread& other = threads_[first + lane];
      complete = complete && other.state == SimThread::State::kInWarp &&
                 other.site == waiting->site && other.mask == waiting->mask;
    }
    if (!complete) continue;
    ResolveWarp(static_cast<int>(first), static_cast<int>(first) + kWarp);
    any = true;
  }
  return any;
}

void SimEngine::ResolveTensors(int first) {
  std::array<TensorPayload*, kWarp> payloads;
  for (int lane = 0; lane < kWarp; ++lane) {
    SimThread& thread = threads_[static_cast<size_t>(first + lane)];
    payloads[static_cast<size_t>(lane)] = thread.payload;
    thread.state = SimThread::State::kReady;
  }
  ResolveTensor(static_cast<TensorOp>(threads_[static_cast<size_t>(first)].kind), payloads);
}

void SimEngine::ResolveWarp(int first, int last) {
  // All lanes wait at one site: all have a payload, or none has.
  if (threads_[static_cast<size_t>(first)].payload != nullptr) return ResolveTensors(first);
  uint32_t values[kWarp];
  uint32_t ballot = 0;
  uint32_t present = 0;
  for (int i = first; i < last; ++i) {
    const SimThread& thread = threads_[static_cast<size_t>(i)];
    values[i - first] = thread.value;
    if (thread.state != SimThread::State::kInWarp) continue;
    present |= 1u << (i - first);
    if (thread.value != 0) ballot |= 1u << (i - first);
  }
  for (int i = first; i < last; ++i) {
    SimThread& thread = threads_[static_cast<size_t>(i)];
    if (thread.state != SimThread::State::kInWarp) continue;
    const int lane = i - first;
    const auto operand = static_cast<int>(thread.operand);
    int source = lane;
    switch (static_cast<WarpOp>(thread.kind)) {
      case WarpOp::kShuffleDown: source = lane + operand; break;
      case WarpOp::kShuffleUp: source = lane - operand; break;
      case WarpOp::kShuffleXor: source = lane ^ operand; break;
      case WarpOp::kShuffleIndex: source = operand % kWarp; break;
      case WarpOp::kBallot: thread.value = ballot; break;
    }
    if (static_cast<WarpOp>(thread.kind) != WarpOp::kBallot && source >= 0 && source < kWarp) {
      // The value of a lane that does not take part is undefined on the hardware.
      thread.value = (present >> source & 1) != 0 ? values[source] : 0xdeadbeef;
    }
    thread.state = SimThread::State::kReady;
  }
}

std::string SimEngine::Where(const SimThread& thread, int32_t site) const {
  const auto& sites = launch_->info->sites;
  return fmt::format(
      "thread {} of block {} at `{}`", thread.index, block_,
      static_cast<size_t>(site) < sites.size() ? sites[static_cast<size_t>(site)] : "?");
}

absl::Status SimEngine::Stuck() {
  const SimThread* waiting = nullptr;
  const SimThread* other = nullptr;
  for (const SimThread& thread : threads_) {
    if (thread.state == SimThread::State::kEnded) continue;
    if (waiting == nullptr) waiting = &thread;
  }
  for (const SimThread& thread : threads_) {
    if (thread.state != waiting->state || thread.site != waiting->site) other = &thread;
  }
  std::string text = "all others wait for it";
  if (other != nullptr) {
    text = other->state == SimThread::State::kEnded
               ? fmt::format("thread {} has ended", other->index)
               : fmt::format("but {}", Where(*other, other->site));
  }
  return MakeError(SourceLoc(), fmt::format("kernel of `{}`: divergent barrier: {} waits, {}",
                                            launch_->name, Where(*waiting, waiting->site), text));
}

// ---- the sanitizer ----

void SimEngine::Fault(SimThread& thread, std::string message) {
  fault_ = MakeError(SourceLoc(), fmt::format("kernel of `{}`: {}", launch_->name, message));
  thread.state = SimThread::State::kEnded;
  fibers_.Yield(thread.index);
}

void SimEngine::CheckAligned(SimThread& thread, uint64_t address, int32_t align, int32_t site) {
  if (address % static_cast<uint64_t>(align) == 0) return;
  Fault(thread, fmt::format("{} is misaligned: address {:#x}, alignment {}", Where(thread, site),
                            address, align));
}

void SimEngine::CheckShared(SimThread& thread, uint64_t address, int32_t bytes, SimAccess kind,
                            int32_t site) {
  const auto base = reinterpret_cast<uint64_t>(shared_);
  const int64_t size = launch_->info->shared_bytes;
  if (address < base ||
      address + static_cast<uint64_t>(bytes) > base + static_cast<uint64_t>(size)) {
    Fault(thread,
          fmt::format("{} touches {} bytes at offset {} of {} bytes of shared memory",
                      Where(thread, site), bytes, static_cast<int64_t>(address - base), size));
  }
  const ShadowAccess access{block_, thread.index, epoch_, static_cast<ShadowAccess::Kind>(kind)};
  const auto finding =
      shared_shadow_.Touch(static_cast<int64_t>(address - base), bytes, access, true);
  if (finding)
    Fault(thread, fmt::format("{} {}", Where(thread, site), Describe(*finding, "shared")));
}

void SimEngine::Access(SimThread& thread, uint64_t address, int32_t bytes, int32_t align,
                       SimAccess kind, int32_t argument, int32_t site) {
  constexpr int32_t kShared = -2;
  CheckAligned(thread, address, align, site);
  if (argument == kShared) return CheckShared(thread, address, bytes, kind, site);
  const uint64_t end = address + static_cast<uint64_t>(bytes);
  const auto inside = [&](const KernelArgument& a) {
    return a.kind == KernelArgument::Kind::kBuffer && address >= a.value &&
           end <= a.value + static_cast<uint64_t>(a.bytes);
  };
  const auto& arguments = launch_->arguments;
  const bool ok = argument >= 0 ? inside(arguments[static_cast<size_t>(argument)])
                                : std::any_of(arguments.begin(), arguments.end(), inside);
  if (!ok) {
    std::string text = "no buffer of the kernel";
    if (argument >= 0) {
      const KernelArgument& a = arguments[static_cast<size_t>(argument)];
      text = fmt::format("offset {} of argument {}, which has {} bytes",
                         static_cast<int64_t>(address - a.value), argument, a.bytes);
    }
    Fault(thread,
          fmt::format("{} touches {} bytes out of bounds: {}", Where(thread, site), bytes, text));
  }
  const ShadowAccess access{block_, thread.index, epoch_, static_cast<ShadowAccess::Kind>(kind)};
  if (const auto finding = global_shadow_.Touch(address, bytes, access))
    Fault(thread, fmt::format("{} {}", Where(thread, site), Describe(*finding, "global")));
}

}  // namespace hlo::gpu

extern "C" {

void hlo_sim_barrier(hlo::gpu::SimThread* thread, int32_t threads, int32_t site) {
  thread->engine->Barrier(*thread, threads, site);
}

uint32_t hlo_sim_warp(hlo::gpu::SimThread* thread, int32_t op, uint32_t mask, uint32_t value,
                      uint32_t operand, int32_t site) {
  return thread->engine->Warp(*thread, static_cast<hlo::gpu::WarpOp>(op), mask, value, operand,
                              site);
}

void hlo_sim_tensor(hlo::gpu::SimThread* thread, int32_t op, hlo::gpu::TensorPayload* payload,
                    int32_t site) {
  thread->engine->Tensor(*thread, static_cast<hlo::gpu::TensorOp>(op), payload, site);
}

void hlo_sim_access(hlo::gpu::SimThread* thread, uint64_t address, int32_t bytes, int32_t align,
                    int32_t kind, int32_t argument, int32_t site) {
  thread->engine->Access(*thread, address, bytes, align, static_cast<hlo::gpu::SimAccess>(kind),
                         argument, site);
}

}  // extern "C"
