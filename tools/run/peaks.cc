#include "tools/run/peaks.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/ir/any_instruction.h"
#include "lib/support/source.h"
#include "lib/support/status.h"
#include "tools/run/bench.h"
#include "tools/run/run_report.h"
#include "tools/support/random_arguments.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

constexpr double kLongEnoughMs = 10;
constexpr int kRuns = 3;

std::string ProductText(int64_t n, ElementType type) {
  return fmt::format(
      "HloModule product\nENTRY main {{\n  a = {1}[{0},{0}] parameter(0)\n  b = {1}[{0},{0}] "
      "parameter(1)\n  ROOT c = {2}[{0},{0}] dot(a, b), lhs_contracting_dims={{1}}, "
      "rhs_contracting_dims={{0}}\n}}\n",
      n, Text(type), IsInteger(type) ? "s32" : "f32");
}
std::string LoopText(int64_t n) {
  return fmt::format(
      "HloModule loop\nENTRY main {{\n  a = f32[{0}] parameter(0)\n  ROOT b = f32[{0}] "
      "negate(a)\n}}\n",
      n);
}

// The least time of a few runs, in milliseconds.
absl::StatusOr<double> TimeOf(const std::string& text, Backend& backend,
                              const CompileOptions& options) {
  const auto source = std::make_shared<const Source>("peaks", text);
  ASSIGN_OR_RETURN(std::unique_ptr<Module> module, LoadModule({"peaks", source}));
  const std::vector<Literal> arguments = RandomArguments(*module, kDefaultSeed);
  ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                   backend.Compile(std::move(module), options));
  ASSIGN_OR_RETURN(const std::unique_ptr<ExecutionState> state,
                   executable->Prepare(arguments, RunOptions()));
  RETURN_IF_ERROR(state->Run());
  double least = 0;
  for (int i = 0; i < kRuns; ++i) {
    const double start = Now();
    RETURN_IF_ERROR(state->Run());
    const double time = Now() - start;
    least = i == 0 ? time : std::min(least, time);
  }
  return least;
}

absl::StatusOr<double> FlopsOfProducts(ElementType type, Backend& backend,
                                       const CompileOptions& options) {
  double most = 0, ms = 0;
  for (int64_t n = 32; n <= 2048 && ms < kLongEnoughMs; n *= 2) {
    ASSIGN_OR_RETURN(ms, TimeOf(ProductText(n, type), backend, options));
    const auto side = static_cast<double>(n);
    most = std::max(most, 2 * side * side * side / ms * 1000);
  }
  return most;
}

}  // namespace

double Peaks::BytesAt(double work_bytes) const {
  double most = bytes;
  for (const auto& [size, rate] : caches) {
    if (size >= work_bytes) most = std::max(most, rate);
  }
  return most;
}

double Peaks::LeastMs(double work_flops, double work_bytes,
                      std::optional<ElementType> operands) const {
  double most = flops;
  for (const auto& [type, rate] : narrow) {
    if (type == operands) most = std::max(most, rate);
  }
  return 1000 * std::max(work_flops / most, work_bytes / BytesAt(work_bytes));
}

std::optional<ElementType> NarrowOperands(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kDot) return std::nullopt;
  const ElementType type = instruction.operand(0)->shape().element_type();
  const bool is_narrow =
      (IsFloat(type) || IsInteger(type)) && BitWidth(type) >= 8 && BitWidth(type) <= 16;
  if (!is_narrow || instruction.operand(1)->shape().element_type() != type) return std::nullopt;
  return type;
}

std::set<ElementType> NarrowProducts(const Module& module) {
  std::set<ElementType> types;
  for (const Instruction* instruction : AllInstructions(module)) {
    if (const auto type = NarrowOperands(*instruction)) types.insert(*type);
  }
  return types;
}

absl::StatusOr<Peaks> MeasurePeaks(Backend& backend, const CompileOptions& options,
                                   const std::set<ElementType>& narrow) {
  CompileOptions compile = options;
  compile.emit.clear();
  compile.run_passes = true;
  compile.instrumentation = nullptr;
  Peaks peaks;
  ASSIGN_OR_RETURN(peaks.flops, FlopsOfProducts(ElementType::kF32, backend, compile));
  for (const ElementType type : narrow) {
    ASSIGN_OR_RETURN(const double flops, FlopsOfProducts(type, backend, compile));
    peaks.narrow.emplace_back(type, flops);
  }
  double ms = 0;
  for (int64_t n = int64_t{1} << 12; n <= int64_t{1} << 24 && ms < kLongEnoughMs; n *= 8) {
    ASSIGN_OR_RETURN(ms, TimeOf(LoopText(n), backend, compile));
    peaks.bytes = 8 * static_cast<double>(n) / ms * 1000;
    peaks.caches.emplace_back(8 * static_cast<double>(n), peaks.bytes);
  }
  return peaks;
}

Peaks PeaksOf(const GpuDevice& device) {
  Peaks peaks;
  peaks.flops = 2e9 * static_cast<double>(device.multiprocessors * device.lanes) * device.clock_ghz;
  peaks.bytes = device.bytes_per_second;
  return peaks;
}

std::string ToString(const Peaks& peaks, std::string_view platform) {
  std::string narrow;
  for (const auto& [type, flops] : peaks.narrow)
    narrow += fmt::format(", {} (of {})", RateText(flops, "FLOP/s"), Text(type));
  return fmt::format("peaks of {}: {} (product of f32 matrices){}, {} (memory), {} (caches)\n",
                     platform, RateText(peaks.flops, "FLOP/s"), narrow,
                     RateText(peaks.bytes, "B/s"), RateText(peaks.BytesAt(0), "B/s"));
}

}  // namespace hlo
