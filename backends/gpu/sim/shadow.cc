#include "backends/gpu/sim/shadow.h"

#include <algorithm>

#include "lib/support/round.h"

namespace hlo::gpu {

void Shadow::Reset(int64_t bytes, int granule) {
  granule_ = granule;
  records_.assign(static_cast<size_t>(CeilDiv(bytes, granule)), Record());
}

std::optional<ShadowFinding> Shadow::Touch(int64_t offset, int64_t bytes,
                                           const ShadowAccess& access, bool must_be_written) {
  const int64_t last = (offset + bytes - 1) / granule_;
  for (int64_t i = offset / granule_; i <= last; ++i) {
    auto finding = TouchOne(records_[static_cast<size_t>(i)], access, must_be_written);
    if (finding) return finding;
  }
  return std::nullopt;
}

std::optional<ShadowFinding> Shadow::TouchOne(Record& r, const ShadowAccess& a,
                                              bool must_be_written) {
  using Kind = ShadowAccess::Kind;
  const auto block = static_cast<int32_t>(a.block);
  // Whether nothing orders the recorded access before this one.
  const auto unordered = [&](int32_t thread, int32_t other_block, uint32_t epoch) {
    return other_block != block || (thread != a.thread && epoch == a.epoch);
  };
  const bool after_write = r.writer >= 0 && unordered(r.writer, r.write_block, r.write_epoch) &&
                           !(r.atomic && a.kind == Kind::kAtomic);
  if (a.kind == Kind::kRead) {
    if (must_be_written && r.writer < 0)
      return ShadowFinding{ShadowProblem::kUninitialised, a.block, a.thread};
    if (after_write) return ShadowFinding{ShadowProblem::kReadAfterWrite, r.write_block, r.writer};
    const bool ordered = r.reader < 0 || (r.read_block == block && r.read_epoch != a.epoch);
    if (ordered && !r.many_blocks) {
      r.many_readers = false;
    } else if (r.reader != a.thread || r.read_block != block) {
      r.many_readers = true;
      r.many_blocks = r.many_blocks || r.read_block != block;
    }
    r.reader = a.thread;
    r.read_epoch = a.epoch;
    r.read_block = block;
    return std::nullopt;
  }
  if (after_write) return ShadowFinding{ShadowProblem::kWriteAfterWrite, r.write_block, r.writer};
  if (r.reader >= 0 && (r.many_blocks || (r.many_readers && r.read_epoch == a.epoch) ||
                        unordered(r.reader, r.read_block, r.read_epoch))) {
    return ShadowFinding{ShadowProblem::kWriteAfterRead, r.read_block, r.reader};
  }
  r.writer = a.thread;
  r.write_block = block;
  r.write_epoch = a.epoch;
  r.atomic = a.kind == Kind::kAtomic;
  r.reader = -1;
  r.many_readers = r.many_blocks = false;
  return std::nullopt;
}

void GlobalShadow::Reset(absl::Span<const KernelArgument> arguments, int granule) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const KernelArgument& argument : arguments) {
    if (argument.kind == KernelArgument::Kind::kBuffer && argument.bytes > 0)
      ranges.emplace_back(argument.value, argument.value + static_cast<uint64_t>(argument.bytes));
  }
  std::sort(ranges.begin(), ranges.end());
  regions_.clear();
  for (const auto& [begin, end] : ranges) {
    if (!regions_.empty() && begin < regions_.back().end) {
      regions_.back().end = std::max(regions_.back().end, end);
    } else {
      regions_.push_back({begin, end, {}});
    }
  }
  for (Region& region : regions_)
    region.shadow.Reset(static_cast<int64_t>(region.end - region.begin), granule);
}

std::optional<ShadowFinding> GlobalShadow::Touch(uint64_t address, int64_t bytes,
                                                 const ShadowAccess& access) {
  for (Region& region : regions_) {
    if (address < region.begin || address >= region.end) continue;
    return region.shadow.Touch(static_cast<int64_t>(address - region.begin), bytes, access,
                               /*must_be_written=*/false);
  }
  return std::nullopt;
}

}  // namespace hlo::gpu
