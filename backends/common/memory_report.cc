#include "backends/common/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "lib/analysis/leaves.h"
#include "lib/analysis/live_range.h"
#include "lib/analysis/running_at.h"
#include "lib/ir/computation.h"
#include "lib/ir/entry_info.h"
#include "lib/ir/source_line.h"
#include "lib/support/byte_count.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

std::string Quoted(const Instruction& instruction) {
  const std::string source = SourceLineOf(instruction);
  return fmt::format("`{}`{}", instruction.name(), source.empty() ? "" : " (" + source + ")");
}

class MemoryReporter {
 public:
  MemoryReporter(const Module& module, const BufferAssignment& assignment)
      : module_(module),
        entry_(*module.entry()),
        assignment_(assignment),
        values_(assignment.values()),
        ranges_(values_) {}

  MemoryReport Make(int64_t scratch) {
    report_.module = module_.name();
    report_.scratch = scratch;
    report_.end = ranges_.end();
    Sum();
    ListBuffers();
    FindPeak();
    for (const InputOutputAlias& alias : module_.config().aliases) Explain(alias);
    for (const BufferDonor& donor : module_.config().donors) Explain(donor);
    return std::move(report_);
  }

 private:
  // ---- allocations and buffers ----

  void Sum() {
    report_.allocations = assignment_.allocations();
    std::vector<std::string> parameters, outputs;
    for (const Instruction* parameter : entry_.parameters()) {
      for (int64_t leaf = 0; leaf < LeafCount(parameter->shape()); ++leaf)
        parameters.push_back(NameOfLeaf(*parameter, leaf));
    }
    ForEachLeaf(entry_.root()->shape(), [&](Shape, const ShapeIndex& index) {
      outputs.push_back(fmt::format("output {}", ToString(index)));
    });
    for (const Allocation& a : report_.allocations) {
      const auto leaf = static_cast<size_t>(a.leaf);
      switch (a.kind) {
        case Allocation::Kind::kArgument:
          report_.arguments += a.size;
          report_.donated += a.donated ? a.size : 0;
          report_.allocation_names.push_back(parameters[leaf]);
          break;
        case Allocation::Kind::kResult:
          report_.results += a.size;
          report_.allocation_names.push_back(outputs[leaf]);
          break;
        case Allocation::Kind::kConstant:
          report_.constants += a.size;
          report_.allocation_names.emplace_back(a.constant->name());
          break;
        case Allocation::Kind::kTemp:
          report_.temporaries += a.size;
          report_.allocation_names.emplace_back("arena");
          break;
      }
    }
  }

  const Allocation& AllocationOf(const BufferSlice& slice) const {
    return report_.allocations[static_cast<size_t>(slice.allocation)];
  }

  void ListBuffers() {
    for (ValueId value = 0; value < values_.count(); ++value) {
      const BufferSlice slice = assignment_.slice_of(value);
      if (slice.allocation < 0) continue;
      const Allocation& allocation = AllocationOf(slice);
      const bool is_permanent =
          allocation.kind == Allocation::Kind::kConstant ||
          (allocation.kind == Allocation::Kind::kArgument && !allocation.donated);
      const LiveRange range = is_permanent ? LiveRange{0, ranges_.end()} : ranges_.Of(value);
      const Instruction& def = *values_[value].def;
      report_.buffers.push_back({NameOfLeaf(def, values_[value].leaf),
                                 std::string(def.opcode_text()),
                                 values_[value].shape.ToString(/*with_layout=*/false),
                                 SourceLineOf(def), slice, range.start, range.end});
    }
  }

  // ---- the peak ----

  // Values that lie in one place at one time count once.
  void FindPeak() {
    struct Change {
      int time;
      int by;  // -1 after what begins at the same time
      BufferSlice slice;
    };
    std::vector<Change> changes;
    for (const BufferUse& use : report_.buffers) {
      if (AllocationOf(use.slice).kind != Allocation::Kind::kTemp) continue;
      changes.push_back({use.start, 1, use.slice});
      changes.push_back({use.end + 1, -1, use.slice});
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::pair(a.time, a.by) < std::pair(b.time, b.by);
    });
    std::map<std::pair<int64_t, int64_t>, int> needed;  // offset, size -> by so many
    int64_t bytes = 0;
    for (const Change& change : changes) {
      int& count = needed[{change.slice.offset, change.slice.size}];
      const bool was = count > 0;
      count += change.by;
      if (was != (count > 0)) bytes += change.by * change.slice.size;
      if (bytes <= report_.peak.bytes) continue;
      report_.peak.bytes = bytes;
      report_.peak.time = change.time;
    }
    if (report_.peak.bytes > 0) ListPeak();
  }

  void ListPeak() {
    MemoryReport::Peak& peak = report_.peak;
    if (const Instruction* at = InstructionAt(peak.time, values_, ranges_); at != nullptr) {
      peak.at = at->name();
      peak.source = SourceLineOf(*at);
    }
    std::map<std::pair<int64_t, int64_t>, size_t> last;  // of those in one place, the latest
    for (size_t i = 0; i < report_.buffers.size(); ++i) {
      const BufferUse& use = report_.buffers[i];
      if (AllocationOf(use.slice).kind == Allocation::Kind::kTemp && use.start <= peak.time &&
          peak.time <= use.end)
        last[{use.slice.offset, use.slice.size}] = i;
    }
    for (const auto& [place, i] : last) peak.buffers.push_back(i);
    std::stable_sort(peak.buffers.begin(), peak.buffers.end(), [this](size_t a, size_t b) {
      return report_.buffers[a].slice.size > report_.buffers[b].slice.size;
    });
  }

  // ---- aliases and donors ----

  // The number of a parameter's leaf among those of all; -1: there is none.
  int64_t LeafOf(int64_t parameter, const ShapeIndex& index) const {
    int64_t first = 0;
    for (int i = 0; i < parameter; ++i) first += LeafCount(entry_.parameter(i)->shape());
    const int64_t leaf = LeafNumber(entry_.parameter(static_cast<int>(parameter))->shape(), index);
    return leaf < 0 ? -1 : first + leaf;
  }

  void Explain(const InputOutputAlias& alias) {
    const int64_t from = LeafOf(alias.parameter, alias.parameter_index);
    const int64_t to = LeafNumber(entry_.root()->shape(), alias.output);
    if (from < 0 || to < 0) return;
    // Allocations begin with the arguments.
    const auto leaf = static_cast<size_t>(from);
    const ValueId result = values_.Of(*entry_.root())[static_cast<size_t>(to)];
    const Instruction& maker = *values_[result].def;
    AliasUse use{.output = ToString(alias.output),
                 .parameter = report_.allocation_names[leaf],
                 .leaf = leaf,
                 .must_alias = alias.must_alias,
                 .bytes = report_.allocations[leaf].size,
                 .by = std::string(maker.name())};
    const BufferSlice place = assignment_.results()[static_cast<size_t>(to)];
    const Instruction& parameter = *entry_.parameter(static_cast<int>(alias.parameter));
    const ValueId given = values_.Of(parameter)[leaf - FirstLeafOf(alias.parameter)];
    if (place.size == 0) {
      use.reason = "there is nothing in it";
    } else if (place.allocation != static_cast<int>(leaf)) {
      use.reason = WhyElsewhere(use, place, given, result);
    } else if (const Instruction* copied = CopiedFrom(maker, place); copied != nullptr) {
      use.state = AliasUse::State::kCopied;
      use.reason = WhyCopied(*copied, maker, given);
    } else {
      use.state = AliasUse::State::kInPlace;
    }
    report_.aliases.push_back(std::move(use));
  }
  size_t FirstLeafOf(int64_t parameter) const {
    size_t first = 0;
    for (int i = 0; i < parameter; ++i)
      first += static_cast<size_t>(LeafCount(entry_.parameter(i)->shape()));
    return first;
  }

  // What the maker of an output copies to its place; null: it is no copy, or one without work.
  const Instruction* CopiedFrom(const Instruction& maker, const BufferSlice& place) const {
    if (maker.opcode() != Opcode::kCopy) return nullptr;
    const Instruction& source = *maker.operand(0);
    return assignment_.slice(source) == place ? nullptr : &source;
  }

  // The last that reads the value at or after a time.
  const Instruction* ReaderFrom(int time, ValueId value) const {
    const Instruction* last = nullptr;
    for (const ProgramStep& step : values_.order()) {
      const bool reads =
          (step.kind == ProgramStep::Kind::kVisit && values_.Reads(*step.instruction)) ||
          step.kind == ProgramStep::Kind::kBegin;
      if (!reads || ranges_.TimeOf(*step.instruction) < time) continue;
      for (const Instruction* operand : step.instruction->operands()) {
        const absl::Span<const ValueId> of = values_.Of(*operand);
        if (std::find(of.begin(), of.end(), value) != of.end()) last = step.instruction;
      }
    }
    return last;
  }

  // Why `maker`, which makes its result at its own time, cannot make it in the memory of `given`.
  std::string WhyNotOver(const Instruction& maker, int made, ValueId given) const {
    const std::string name = values_.NameOf(given);
    const absl::Span<const ValueId> results = values_.Of(*entry_.root());
    const auto returned = std::find(results.begin(), results.end(), given);
    if (returned != results.end()) return fmt::format("`{}` is an output, too", name);
    const Instruction* reader = ReaderFrom(made, given);
    if (reader == nullptr) return fmt::format("`{}` is needed while {} is", name, Quoted(maker));
    if (reader == &maker) {
      return fmt::format("{} still reads `{}` when it has begun to write", Quoted(maker), name);
    }
    return fmt::format("{} reads `{}` after {} is made", Quoted(*reader), name, Quoted(maker));
  }

  std::string WhyCopied(const Instruction& source, const Instruction& copy, ValueId given) const {
    const ValueId value = values_.Of(source)[0];
    const Instruction& maker = *values_[value].def;
    if (maker.IsConstant() || (maker.opcode() == Opcode::kParameter && maker.parent()->is_entry()))
      return fmt::format("the output is the value of `{}`", maker.name());
    const absl::Span<const ValueId> results = values_.Of(*entry_.root());
    if (std::find(results.begin(), results.end(), value) != results.end())
      return fmt::format("{} is another output, too", Quoted(maker));
    if (ReaderFrom(ranges_.TimeOf(copy) + 1, value) != nullptr)
      return fmt::format("{} is needed after it", Quoted(maker));
    return WhyNotOver(maker, ranges_.Of(value).start, given);
  }

  std::string WhyElsewhere(const AliasUse& use, const BufferSlice& place, ValueId given,
                           ValueId result) const {
    if (place.size != use.bytes) {
      return fmt::format("the output takes {}, not {}", ByteCountText(place.size),
                         ByteCountText(use.bytes));
    }
    // What is made in the place of the output first.
    ValueId first = result;
    for (ValueId value = 0; value < values_.count(); ++value) {
      if (assignment_.slice_of(value).allocation == place.allocation &&
          ranges_.Of(value).start < ranges_.Of(first).start)
        first = value;
    }
    return WhyNotOver(*values_[first].def, ranges_.Of(first).start, given);
  }

  void Explain(const BufferDonor& donor) {
    const int64_t leaf = LeafOf(donor.parameter, donor.index);
    if (leaf < 0) return;
    DonorUse use{report_.allocation_names[static_cast<size_t>(leaf)],
                 report_.allocations[static_cast<size_t>(leaf)].size, ""};
    std::string free;
    ForEachLeaf(entry_.root()->shape(), [&](Shape shape, const ShapeIndex& index) {
      if (free.empty() && shape.IsArray() && shape.byte_size() == use.bytes &&
          AliasOfOutput(module_, index) == nullptr)
        free = ToString(index);
    });
    use.reason = free.empty() ? fmt::format("no output of {} is free", ByteCountText(use.bytes))
                              : fmt::format("no pass has paired it with output {}", free);
    report_.donors.push_back(std::move(use));
  }

  const Module& module_;
  const Computation& entry_;
  const BufferAssignment& assignment_;
  const Values& values_;
  const LiveRanges ranges_;
  MemoryReport report_;
};

}  // namespace

std::string MemoryReport::Largest(size_t count) const {
  std::vector<const BufferUse*> largest;
  for (const BufferUse& use : buffers) largest.push_back(&use);
  std::stable_sort(largest.begin(), largest.end(), [](const BufferUse* a, const BufferUse* b) {
    return a->slice.size > b->slice.size;
  });
  // Values in one place are one buffer.
  std::vector<std::tuple<int, int64_t, int64_t>> places;
  std::string text;
  for (const BufferUse* use : largest) {
    const std::tuple place(use->slice.allocation, use->slice.offset, use->slice.size);
    if (places.size() == count) break;
    if (std::find(places.begin(), places.end(), place) != places.end()) continue;
    places.push_back(place);
    text += fmt::format("{}`{}` {} {}", text.empty() ? "" : ", ", use->name, use->shape,
                        ByteCountText(use->slice.size));
    if (!use->source.empty()) text += fmt::format(" ({})", use->source);
  }
  return text;
}

absl::StatusOr<MemoryReport> MakeMemoryReport(const Executable& executable) {
  const auto* const knows = dynamic_cast<const KnowsBuffers*>(&executable);
  if (knows == nullptr || knows->assigned_buffers() == nullptr)
    return Unsupported(SourceLoc(),
                       "this platform assigns no buffers and has no memory report; see `hlo-info "
                       "--show=memory`");
  return MemoryReporter(executable.module(), *knows->assigned_buffers())
      .Make(knows->thunk_scratch_bytes());
}

}  // namespace hlo
