#include "tools/run/look_inside.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "lib/eval/evaluator.h"
#include "lib/ir/source_line.h"
#include "lib/ops/opcode_set.h"
#include "lib/support/status.h"
#include "tools/run/outputs.h"
#include "tools/support/compare_values.h"
#include "tools/support/extract.h"
#include "tools/support/leaves.h"

namespace hlo {
namespace {

// Operations that are nothing by themselves, or different things each time.
constexpr OpcodeSet kNotIsolated = {Opcode::kParameter,   Opcode::kConstant,
                                    Opcode::kTuple,       Opcode::kGetTupleElement,
                                    Opcode::kAfterAll,    Opcode::kAsyncStart,
                                    Opcode::kAsyncUpdate, Opcode::kAsyncDone,
                                    Opcode::kInfeed,      Opcode::kOutfeed,
                                    Opcode::kSend,        Opcode::kSendDone,
                                    Opcode::kRecv,        Opcode::kRecvDone,
                                    Opcode::kCopyStart,   Opcode::kCopyDone,
                                    Opcode::kRng,         Opcode::kRngGetAndUpdateState};

// " (model.py:12)", or "".
std::string Origin(const Instruction& instruction) {
  const std::string line = SourceLineOf(instruction);
  return line.empty() ? "" : fmt::format(" ({})", line);
}

// How many values of an array are NaN or infinite, and between which numbers the others lie.
struct Spread {
  int64_t nans = 0, infinities = 0, count = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void Add(double x) {
    ++count;
    nans += std::isnan(x) ? 1 : 0;
    infinities += std::isinf(x) ? 1 : 0;
    if (!std::isfinite(x)) return;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  bool is_finite() const { return nans + infinities == 0; }
  std::string ToString() const {
    std::string text;
    if (least <= most) text = fmt::format("{:.6g} to {:.6g}", least, most);
    if (nans > 0) text += fmt::format("{}{} NaN", text.empty() ? "" : ", ", nans);
    if (infinities > 0) text += fmt::format("{}{} infinite", text.empty() ? "" : ", ", infinities);
    return text.empty() ? "no elements" : text;
  }
};

Spread SpreadOf(const Literal& value) {
  Spread spread;
  for (const Literal& leaf : ArrayLeaves(value)) {
    const ElementType type = leaf.element_type();
    for (int64_t i = 0; i < leaf.element_count(); ++i) {
      if (IsComplex(type)) {
        spread.Add(leaf.GetComplex(i).real());
        spread.Add(leaf.GetComplex(i).imag());
      } else {
        spread.Add(IsFloat(type) ? leaf.GetDouble(i) : static_cast<double>(leaf.GetInt(i)));
      }
    }
  }
  return spread;
}

// ---- the first NaN ----

// Notes the first instruction that makes what is not finite out of what is.
class FirstNan {
 public:
  void See(const Instruction& instruction, const Literal& value) {
    if (!text_.empty()) return;
    const Spread spread = SpreadOf(value);
    is_finite_[&instruction] = spread;
    const bool is_given =
        instruction.opcode() == Opcode::kParameter || instruction.opcode() == Opcode::kConstant;
    if (spread.is_finite() || is_given || !instruction.calls().empty()) return;
    std::string operands;
    for (const Instruction* operand : instruction.operands()) {
      const auto found = is_finite_.find(operand);
      if (found == is_finite_.end()) continue;
      if (!found->second.is_finite()) return;
      operands += fmt::format("  operand `{}` {}: {}\n", operand->name(), operand->shape(),
                              found->second.ToString());
    }
    text_ = fmt::format("first NaN or infinity: `{}` = {} {}{}: {}\n{}", instruction.name(),
                        instruction.shape(), instruction.opcode_text(), Origin(instruction),
                        spread.ToString(), operands);
  }
  std::string text() const {
    return text_.empty() ? "no operation makes NaN or infinity out of numbers\n" : text_;
  }

 private:
  std::map<const Instruction*, Spread> is_finite_;
  std::string text_;
};

// ---- probes ----

class Probe {
 public:
  explicit Probe(const std::string& pattern) : pattern_(pattern) {}
  void See(const Instruction& instruction, const Literal& value) {
    if (!std::regex_search(std::string(instruction.name()), pattern_)) return;
    const int64_t time = ++times_[&instruction];
    const std::string number = time == 1 ? "" : fmt::format(":{}", time);
    text_ += fmt::format("{}{}{} = {}", instruction.name(), number, Origin(instruction),
                         OutputText(value, PrintOutputs::kShort));
  }
  std::string text() const {
    return text_.empty() ? "no instruction of such a name was computed\n" : text_;
  }

 private:
  const std::regex pattern_;
  std::map<const Instruction*, int64_t> times_;
  std::string text_;
};

// ---- one operation at a time ----

struct Verdicts {
  std::string text;
  double largest = 0;
  bool ok = true;
};

class Isolation {
 public:
  Isolation(const Module& module, Backend& platform, const LookInsideOptions& options)
      : module_(module), platform_(platform), options_(options), pattern_(options.isolate) {}

  void See(const Instruction& instruction, const Literal& value) {
    if (instruction.parent() == module_.entry()) values_[&instruction] = value;
  }

  LookInside Run() {
    std::vector<Verdicts> all;
    LookInside result;
    for (const Instruction* instruction : module_.entry()->PostOrder()) {
      if (kNotIsolated.Has(instruction->opcode()) || !values_.contains(instruction) ||
          !std::regex_search(std::string(instruction->name()), pattern_))
        continue;
      all.push_back(Judge(*instruction));
      result.different += all.back().ok ? 0 : 1;
    }
    std::stable_sort(all.begin(), all.end(), [](const Verdicts& a, const Verdicts& b) {
      return a.ok != b.ok ? !a.ok : a.largest > b.largest;
    });
    for (const Verdicts& verdict : all) result.text += verdict.text;
    result.text +=
        fmt::format("{} operations alone on {}: {} agree, {} do not\n", all.size(),
                    platform_.name(), std::ssize(all) - result.different, result.different);
    return result;
  }

 private:
  Verdicts Judge(const Instruction& instruction) const {
    const std::string what =
        fmt::format("`{}` {} {}{}: ", instruction.name(), instruction.opcode_text(),
                    instruction.shape(), Origin(instruction));
    const absl::StatusOr<Literal> alone = RunAlone(instruction);
    if (!alone.ok())
      return {what + "fails: " + std::string(alone.status().message()) + "\n", 0, false};
    const Verdict verdict = CompareOutputs(*alone, values_.at(&instruction), options_.tolerance);
    double largest = 0;
    const std::vector<Literal> got = ArrayLeaves(*alone);
    const std::vector<Literal> want = ArrayLeaves(values_.at(&instruction));
    for (size_t i = 0; i < got.size() && i < want.size(); ++i)
      largest = std::max(largest, Compare(got[i], want[i], Tolerance()).max_rel_error);
    if (verdict.ok)
      return {fmt::format("{}agrees (largest relative error {:.3g})\n", what, largest), largest,
              true};
    return {what + "DIFFERS\n  " + verdict.report, largest, false};
  }

  // The operation with the interpreter's operands.
  absl::StatusOr<Literal> RunAlone(const Instruction& instruction) const {
    std::unique_ptr<Module> part = module_.Clone();
    RETURN_IF_ERROR(
        Extract(*part, fmt::format("{}/{}", module_.entry()->name(), instruction.name()), 0));
    std::vector<Literal> arguments;
    for (const Instruction* parameter : part->entry()->parameters()) {
      const Instruction* const before = module_.entry()->Find(parameter->name());
      const auto value = values_.find(before);
      if (value == values_.end())
        return Error("the interpreter did not compute `{}`", parameter->name());
      arguments.push_back(value->second);
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<Executable> executable,
                     platform_.Compile(std::move(part), options_.compile));
    return executable->Run(arguments, RunOptions());
  }

  const Module& module_;
  Backend& platform_;
  const LookInsideOptions& options_;
  const std::regex pattern_;
  std::map<const Instruction*, Literal> values_;
};

}  // namespace

absl::StatusOr<LookInside> LookIntoModule(const Module& module,
                                          const std::vector<Literal>& arguments, Backend& platform,
                                          const LookInsideOptions& options) {
  FirstNan first_nan;
  Probe probe(options.probe);
  Isolation isolation(module, platform, options);
  EvalOptions evaluation;
  evaluation.seed = options.compile.seed;
  evaluation.hook = [&](const Instruction& instruction, const Literal& value) {
    if (options.first_nan) first_nan.See(instruction, value);
    if (!options.probe.empty()) probe.See(instruction, value);
    if (!options.isolate.empty()) isolation.See(instruction, value);
  };
  for (size_t i = 0; i < arguments.size(); ++i)
    evaluation.hook(*module.entry()->parameter(static_cast<int>(i)), arguments[i]);
  Evaluator evaluator(evaluation);
  RETURN_IF_ERROR(evaluator.Run(module, arguments).status());
  LookInside result;
  if (options.first_nan) result.text += first_nan.text();
  if (!options.probe.empty()) result.text += probe.text();
  if (!options.isolate.empty()) {
    LookInside isolated = isolation.Run();
    result.text += isolated.text;
    result.different = isolated.different;
  }
  return result;
}

}  // namespace hlo
