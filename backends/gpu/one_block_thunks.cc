#include "backends/gpu/one_block_thunks.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/analysis/program_cost.h"
#include "lib/ir/computation.h"
#include "lib/support/round.h"
#include "lib/support/status.h"

namespace hlo::gpu {
namespace {

constexpr size_t kMostSteps = 24;
constexpr size_t kMostBytes = 400'000;  // of bitcode: every step is compiled once more
constexpr int64_t kMostThreads = 512;   // of steps that could use more
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostCopied = 64 * 1024;  // bytes
constexpr int64_t kMostTrips = 1 << 20;     // of one launch
// A step of a loop that is done by one block in so many turns may cost as much as a launch. On an
// H100 a launch in a graph took about 2 us (lstm: 9 in 18.6), a turn of a product 0.75 (scan_gru:
// 24 and four others in 21), which several blocks would take at the same time.
constexpr int64_t kMostTurns = 16;
constexpr int64_t kCostOfBarriers = 2;  // in turns
int64_t MostTurnsOfAll(size_t steps) { return 6 + 3 * static_cast<int64_t>(steps); }

const GpuKernelThunk* AsKernels(const Thunk& thunk) {
  return dynamic_cast<const GpuKernelThunk*>(&thunk);
}

}  // namespace

// What is launched now, or copied.
struct OneBlockMerger::Step {
  int kernel = -1;  // of the program; -1: a copy
  LaunchDims dims;
  std::vector<BufferSlice> slices;
  std::vector<std::pair<size_t, int64_t>> scratch;  // places of slices that are offsets in scratch
  std::vector<int64_t> integers;
  bool has_barriers = false;

  int64_t threads() const { return dims.block; }
  int64_t blocks() const { return dims.grid[0]; }
  int64_t Turns(int64_t of_threads) const {
    if (kernel < 0) return 1;
    return has_barriers ? blocks() : CeilDiv(blocks(), of_threads / threads());
  }
};

struct OneBlockMerger::Candidate {
  std::vector<Step> steps;
  std::vector<BufferSlice> written;
  int64_t scratch_bytes = 0;
  int64_t trips = 0;  // of loops inside
  size_t bytes = 0;
  std::string text;

  int64_t Threads() const {
    int64_t most = 32;
    for (const Step& step : steps) {
      if (step.kernel < 0) {
        most = std::max(most, std::min<int64_t>(256, CeilDiv(step.slices[0].size, 16)));
      } else {
        most = std::max(most, step.threads());
        if (!step.has_barriers)
          most = std::max(most, std::min(kMostThreads, step.blocks() * step.threads()));
      }
    }
    return RoundUp(most, 32);
  }
};

const BlockFacts& OneBlockMerger::FactsOfKernel(int kernel) {
  const auto [it, is_new] = facts_.try_emplace(kernel);
  if (is_new) it->second = FactsOf(program_.kernels[static_cast<size_t>(kernel)].bitcode);
  return it->second;
}

bool OneBlockMerger::AppendLaunch(const GpuKernelThunk& thunk, const GpuKernelThunk::Step& from,
                                  int64_t most_threads, Candidate& candidate) {
  Step step;
  if (from.late != PlanStep::Late::kNone) return false;
  const size_t buffers = thunk.buffers().size();
  for (const int number : from.buffers) {
    const auto i = static_cast<size_t>(number);
    if (i < buffers) {
      step.slices.push_back(thunk.buffers()[i]);
    } else {
      step.scratch.emplace_back(step.slices.size(), thunk.scratch_offset(i - buffers));
      step.slices.push_back({});
    }
  }
  if (from.kind == PlanStep::Kind::kCopy) {
    if (!step.scratch.empty() || step.slices[0].size > kMostCopied) return false;
    if (step.slices[0] != step.slices[1]) candidate.steps.push_back(std::move(step));
    return true;
  }
  if (from.dims.grid[1] != 1 || from.dims.grid[2] != 1) return false;
  // What these say costs nothing; the facts are read from the kernel's code.
  if (from.dims.grid[0] > kMostTurns * kMostThreads / 32) return false;  // for any block
  if (from.dims.grid[0] > 1 && from.dims.grid[0] * from.dims.block > most_threads) return false;
  const BlockFacts& facts = FactsOfKernel(from.kernel);
  if (!facts.fits) return false;
  step.kernel = from.kernel;
  step.dims = from.dims;
  step.integers = from.integers;
  step.has_barriers = facts.has_barriers;
  candidate.bytes += program_.kernels[static_cast<size_t>(from.kernel)].bitcode.size();
  candidate.steps.push_back(std::move(step));
  return true;
}

bool OneBlockMerger::Append(const Thunk& thunk, int64_t most_threads, Candidate& candidate) {
  const BufferUses uses = thunk.uses();
  if (dynamic_cast<const CopyThunk*>(&thunk) != nullptr) {
    if (uses.reads[0].size > kMostCopied) return false;
    Step step;
    step.slices = {uses.reads[0], uses.writes[0]};
    candidate.steps.push_back(std::move(step));
  } else if (const GpuKernelThunk* kernels = AsKernels(thunk)) {
    for (const GpuKernelThunk::Step& step : kernels->steps()) {
      if (!AppendLaunch(*kernels, step, most_threads, candidate)) return false;
    }
    candidate.scratch_bytes = std::max(candidate.scratch_bytes, thunk.scratch_bytes());
    candidate.trips = std::max(candidate.trips, kernels->trips());
  } else {
    return false;
  }
  thunk.AppendTo(candidate.text, 0);
  candidate.written.insert(candidate.written.end(), uses.writes.begin(), uses.writes.end());
  return candidate.steps.size() <= kMostSteps && bytes_ + candidate.bytes <= kMostBytes;
}

absl::StatusOr<std::unique_ptr<Thunk>> OneBlockMerger::Make(const Candidate& candidate,
                                                            std::string_view name,
                                                            std::string_view family, int64_t trips,
                                                            const BufferSlice* go_on) {
  // A pointer for each allocation, to all of it that is used.
  std::map<int, BufferSlice> used;
  const auto see = [&used](const BufferSlice& slice) {
    if (slice.allocation < 0 || slice.size == 0) return;
    const auto [it, is_new] = used.try_emplace(slice.allocation, slice);
    if (is_new) return;
    const int64_t begin = std::min(it->second.offset, slice.offset);
    it->second.size =
        std::max(it->second.offset + it->second.size, slice.offset + slice.size) - begin;
    it->second.offset = begin;
  };
  for (const Step& step : candidate.steps) {
    for (const BufferSlice& slice : step.slices) see(slice);
  }
  if (go_on != nullptr) see(*go_on);
  std::vector<BufferSlice> buffers;
  std::map<int, int> pointer;
  for (const auto& [allocation, slice] : used) {
    pointer[allocation] = static_cast<int>(buffers.size());
    buffers.push_back(slice);
  }
  const auto pointers = static_cast<int>(buffers.size());
  const auto place = [&](const BufferSlice& slice) {
    if (slice.allocation < 0 || slice.size == 0) return BlockPlace{};
    return BlockPlace{pointer.at(slice.allocation),
                      slice.offset - used.at(slice.allocation).offset};
  };
  std::vector<BlockStep> steps;
  for (const Step& from : candidate.steps) {
    BlockStep step;
    for (const BufferSlice& slice : from.slices) step.buffers.push_back(place(slice));
    for (const auto& [i, offset] : from.scratch) step.buffers[i] = {pointers, offset};
    if (from.kernel < 0) {
      step.bytes = from.slices[1].size;
    } else {
      step.bitcode = &program_.kernels[static_cast<size_t>(from.kernel)].bitcode;
      step.dims = from.dims;
      step.integers = from.integers;
    }
    steps.push_back(std::move(step));
  }
  BlockLoop loop;
  loop.trips = trips;
  if (go_on != nullptr) loop.go_on = place(*go_on);
  const auto threads = static_cast<int>(candidate.Threads());
  const bool has_scratch = candidate.scratch_bytes > 0;
  ASSIGN_OR_RETURN(std::string bitcode,
                   EmitOneBlock(steps, loop, pointers + (has_scratch ? 1 : 0), threads));
  bytes_ += candidate.bytes;
  GpuKernelThunk::Step launch;
  launch.kind = PlanStep::Kind::kLaunch;
  launch.kernel = static_cast<int>(program_.kernels.size());
  program_.kernels.push_back({std::string(name), std::move(bitcode)});
  launch.dims.block = threads;
  for (int i = 0; i < pointers; ++i) launch.buffers.push_back(i);
  // After what is written, which the list of buffers ends with.
  std::vector<BufferSlice> written;
  for (const BufferSlice& slice : candidate.written) {
    if (std::find(written.begin(), written.end(), slice) == written.end()) written.push_back(slice);
  }
  buffers.insert(buffers.end(), written.begin(), written.end());
  std::vector<int64_t> scratch;
  if (has_scratch) {
    launch.buffers.push_back(static_cast<int>(buffers.size()));
    scratch.push_back(candidate.scratch_bytes);
  }
  if (go_on != nullptr) launch.late = PlanStep::Late::kTrips;
  auto thunk = std::make_unique<GpuKernelThunk>(
      name, family, std::vector<GpuKernelThunk::Step>{std::move(launch)}, std::move(buffers),
      written.size(), std::move(scratch));
  thunk->SetParts(candidate.text);
  thunk->SetTrips(std::max(candidate.trips, go_on == nullptr && trips > 1 ? trips : 0));
  return std::unique_ptr<Thunk>(std::move(thunk));
}

absl::Status OneBlockMerger::MergeRuns(ThunkList& thunks) {
  ThunkList merged;
  for (size_t i = 0; i < thunks.size();) {
    Candidate run;
    size_t end = i;
    for (; end < thunks.size(); ++end) {
      Candidate longer = run;
      if (!Append(*thunks[end], kMostThreads, longer)) break;
      const auto is_small = [](const Step& step) {
        return step.kernel < 0 ? step.slices[0].size <= kMostCopied / 4
                               : step.blocks() == 1 || !step.has_barriers;
      };
      if (!std::all_of(longer.steps.begin(), longer.steps.end(), is_small)) break;
      run = std::move(longer);
    }
    if (end - i < 2 || run.steps.size() < 2) {
      end = std::max(end, i + 1);
      for (; i < end; ++i) merged.push_back(std::move(thunks[i]));
      continue;
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Thunk> one,
                     Make(run, thunks[end - 1]->name(), "steps", /*trips=*/1, nullptr));
    merged.push_back(std::move(one));
    i = end;
  }
  thunks = std::move(merged);
  return absl::OkStatus();
}

absl::StatusOr<bool> OneBlockMerger::MergeLoop(const Instruction& loop, ThunkList& condition,
                                               const BufferSlice& predicate, ThunkList& body,
                                               ThunkList& thunks) {
  Candidate all;
  for (const auto& thunk : body) {
    if (!Append(*thunk, kNoLimit, all)) return false;
  }
  const std::optional<int64_t> trips = KnownTripCount(loop);
  const bool is_counted = trips.has_value() && *trips <= kMostTrips;
  if (!is_counted) {
    for (const auto& thunk : condition) {
      if (!Append(*thunk, kNoLimit, all)) return false;
    }
  }
  int64_t turns = 0;
  const int64_t threads = all.Threads();
  for (const Step& step : all.steps) {
    if (step.Turns(threads) > kMostTurns) return false;
    const bool waits = step.has_barriers && step.blocks() > 1;
    turns += step.Turns(threads) * (waits ? kCostOfBarriers : 1);
  }
  if (all.steps.empty() || turns > MostTurnsOfAll(all.steps.size())) return false;
  if (is_counted) {
    if (*trips == 0) return true;
    ASSIGN_OR_RETURN(std::unique_ptr<Thunk> one,
                     Make(all, loop.name(), "loop-steps", *trips, nullptr));
    thunks.push_back(std::move(one));
    return true;
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Thunk> some,
                   Make(all, loop.name(), "loop-steps", /*trips=*/1, &predicate));
  ThunkList launched;
  launched.push_back(std::move(some));
  // The host looks whether to begin, and whether to go on after many trips.
  thunks.push_back(std::make_unique<WhileThunk>(loop.name(), std::move(condition), predicate,
                                                std::move(launched)));
  return true;
}

namespace {

void ForEachKernels(const ThunkList& thunks, const std::function<void(GpuKernelThunk&)>& see) {
  for (const auto& thunk : thunks) {
    if (auto* const kernels = dynamic_cast<GpuKernelThunk*>(thunk.get())) see(*kernels);
    if (const auto* const control = dynamic_cast<const ControlThunk*>(thunk.get())) {
      for (const ThunkList& list : control->lists()) ForEachKernels(list, see);
    }
  }
}

}  // namespace

void DropUnusedKernels(Program& program) {
  std::vector<int> number(program.kernels.size(), -1);
  ForEachKernels(program.thunks, [&](GpuKernelThunk& thunk) {
    for (const GpuKernelThunk::Step& step : thunk.steps()) {
      if (step.kind == PlanStep::Kind::kLaunch) number[static_cast<size_t>(step.kernel)] = 0;
    }
  });
  std::vector<UniqueKernel> kept;
  for (size_t i = 0; i < number.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(program.kernels[i]));
  }
  program.kernels = std::move(kept);
  ForEachKernels(program.thunks, [&](GpuKernelThunk& thunk) { thunk.Renumber(number); });
}

}  // namespace hlo::gpu
