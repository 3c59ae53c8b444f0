#include "tools/run/memory_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <string>

#include "backends/common/memory_report.h"
#include "lib/ir/any_instruction.h"
#include "lib/ir/computation.h"
#include "lib/support/memory_info.h"
#include "lib/support/saturate.h"
#include "lib/support/status.h"
#include "tools/support/leaves.h"

namespace hlo {

void LimitMemory(uint64_t bytes) {
  if (bytes == 0) {
    const int64_t machine = MemoryOfMachine();
    if (machine == std::numeric_limits<int64_t>::max()) return;
    bytes = static_cast<uint64_t>(machine);
  }
  // A floor: programs that need little must not fail because the machine is busy.
  constexpr uint64_t kFloor = 64u << 20;
#ifdef __SANITIZE_ADDRESS__
  return;  // the sanitizer's own memory counts, too
#endif
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const rlim_t wanted = std::max(bytes, kFloor);
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_DATA, &limit);
}

namespace {

// Of all arrays in it; more than any machine has counts as that.
int64_t BytesOfAll(Shape shape) {
  double bytes = 0;
  ForEachLeaf(shape, [&](Shape leaf, const ShapeIndex&) {
    if (!leaf.IsArray()) return;
    double size = ByteSize(leaf.element_type());
    for (const int64_t dim : leaf.dims()) size *= static_cast<double>(dim);
    bytes += size;
  });
  return static_cast<int64_t>(std::min(bytes, 0x1p61));
}

std::string Size(int64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  if (mib < 0.1) return fmt::format("{} bytes", bytes);
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.1f} GiB", mib / 1024);
}

// An error at `loc` when `what`, which ends in a verb, takes more bytes than `limit` (0: no limit
// of the user's) or than the machine has.
absl::Status CheckLimit(int64_t bytes, uint64_t limit, SourceLoc loc, std::string_view what,
                        const std::string& more) {
  std::string than;
  if (limit > 0 && static_cast<uint64_t>(bytes) > limit) {
    than = fmt::format("--memory-limit, {}, allows", Size(static_cast<int64_t>(limit)));
  } else if (const int64_t available = AvailableMemory(); bytes > available) {
    than = fmt::format("the {} that are available", Size(available));
  }
  if (than.empty()) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kResourceExhausted, loc,
      fmt::format("out of memory: {} {}, more than {}{}", what, Size(bytes), than, more));
}

// Of the arrays of all instructions, none in the place of another.
int64_t BytesOfModule(const Module& module) {
  int64_t bytes = 0;
  for (const Instruction* instruction : AllInstructions(module))
    bytes = SaturatingAdd(bytes, BytesOfAll(instruction->shape()));
  return bytes;
}

}  // namespace

absl::Status CheckFits(const Module& module, std::string_view platform, int64_t devices,
                       uint64_t limit) {
  const Computation& entry = *module.entry();
  const Instruction* largest = entry.root();
  int64_t bytes = BytesOfAll(largest->shape());
  for (int i = 0; i < entry.parameter_count(); ++i) {
    const Instruction* parameter = entry.parameter(i);
    if (BytesOfAll(parameter->shape()) > BytesOfAll(largest->shape())) largest = parameter;
    if (parameter != entry.root()) bytes += BytesOfAll(parameter->shape());
  }
  // Compiled code has memory of its own, which they are copied to and from.
  if (platform != "interpreter") bytes *= 2;
  bytes = std::min(bytes, int64_t{1} << 48) * devices;
  return CheckLimit(
      bytes, limit, largest->loc(),
      fmt::format("the inputs and results (`{}`: `{}`) take", largest->name(), largest->shape()),
      "");
}

absl::Status CheckPlanFits(const Module& module, Backend& backend, CompileOptions options,
                           int64_t devices, uint64_t limit) {
  constexpr size_t kMostNamed = 3;
  // Constants and arguments are there twice, once as literals.
  const double most =
      2.0 * static_cast<double>(devices) * static_cast<double>(BytesOfModule(module));
  const auto room =
      static_cast<double>(limit > 0 ? static_cast<int64_t>(limit) : AvailableMemory());
  if (backend.name() == "interpreter" || most <= room) return absl::OkStatus();
  options.emit = {EmitStage::kBuffers};
  options.emit_sink = nullptr;
  options.cpu.kernels = CpuKernels::kEvaluate;  // no machine code: it is not run
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> planned,
                   backend.Compile(module.Clone(), options));
  ASSIGN_OR_RETURN(const MemoryReport report, MakeMemoryReport(*planned));
  return CheckLimit(devices * SaturatingAdd(report.total(), report.arguments), limit, SourceLoc(),
                    "a run of this module takes",
                    "; the largest buffers: " + report.Largest(kMostNamed));
}

}  // namespace hlo
