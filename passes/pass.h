// A pass turns a valid module into a valid module and reports whether it changed it.
//
//   class Dce final : public Pass {
//    public:
//     absl::StatusOr<bool> Run(Module& module, PassContext& context) override;
//   };
//   HLO_DEFINE_PASS(Dce)                      // in the .cc
//   HLO_PASS("dce", Dce, kSimplify, "…")      // one row in passes.def
//
// Options are a struct that names its members (lib/support/option_fields.h; by Fields() where texts
// are others); the text `dce{name=value}` is parsed into it. WithOptions keeps it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/support/decision.h"
#include "lib/support/option_fields.h"
#include "lib/support/status.h"
#include "lib/support/thread_pool.h"
#include "passes/analyses.h"

namespace hlo {

// Facts that passes share during one pipeline: analyses, statistics, remarks, limits, threads.
class PassContext {
 public:
  // What is known of the module (analyses.h).
  Analyses& analyses() { return analyses_; }
  // Callees before callers, as when this pass began: ask before you change calls.
  std::vector<Computation*> Computations(const Module& module) {
    return analyses_.Get<CallGraph>(module).all();
  }
  std::vector<Computation*> NonFusionComputations(const Module& module) {
    return analyses_.Get<CallGraph>(module).without_fusions();
  }
  // Those of them that may hold one of these opcodes (Computation::MayHoldAny); asks for the order
  // only when there are several.
  std::vector<Computation*> Computations(const Module& module, const OpcodeSet& holding);
  std::vector<Computation*> NonFusionComputations(const Module& module, const OpcodeSet& holding);
  // Those that run as parts of the program alone: no regions of reductions and the like.
  std::vector<Computation*> ControlFlowComputations(const Module& module);

  // Threads for passes that ask for them; results do not depend on how many there are. 1 (the
  // default): none but the caller's. 0: one for each processor.
  void set_threads(int threads) { threads_ = threads; }
  int threads() const { return threads_; }
  // Calls f(i) for each i in [0, count), in any order and on several threads at once. `f` must not
  // throw, nor touch the context.
  template <class F>
  void ParallelFor(int64_t count, F&& f) {
    if (threads_ == 1 || count < 2) {
      for (int64_t i = 0; i < count; ++i) f(i);
      return;
    }
    if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>(threads_);
    pool_->ParallelForDynamic(count, [&f](int64_t i, int) { f(i); });
  }

  // Adds to a named count of the running pass, shown by --stats.
  void Count(std::string_view what, int64_t by = 1) {
    counts_[{std::string(pass_), std::string(what)}] += by;
  }
  const std::map<std::pair<std::string, std::string>, int64_t>& counts() const { return counts_; }

  // Remarks about instructions, before they change, shown by --remarks: what is done to it, what is
  // left alone and why, what was found out. The text is made only when somebody wants it.
  template <class... A>
  void Passed(const Instruction& instruction, fmt::format_string<A...> text, A&&... values) {
    if (wants_remarks_)
      Emit(Remark::kPassed, instruction, fmt::format(text, std::forward<A>(values)...));
  }
  template <class... A>
  void Found(const Instruction& instruction, fmt::format_string<A...> text, A&&... values) {
    if (wants_remarks_)
      Emit(Remark::kAnalysis, instruction, fmt::format(text, std::forward<A>(values)...));
  }
  void Missed(const Instruction& instruction, std::string_view reason) {
    if (wants_remarks_) Emit(Remark::kMissed, instruction, std::string(reason));
  }
  // Whether the answer is yes; else its reason is why the instruction is left alone.
  bool Allowed(const Instruction& instruction, const Decision& decision) {
    if (!decision) Missed(instruction, decision.reason());
    return static_cast<bool>(decision);
  }
  enum class Remark { kPassed, kMissed, kAnalysis };
  struct RemarkEntry {
    Remark kind;
    std::string pass;
    std::string instruction;
    std::string message;
    SourceLoc loc;
  };
  bool wants_remarks() const { return wants_remarks_; }
  void set_wants_remarks(bool wants) { wants_remarks_ = wants; }
  const std::vector<RemarkEntry>& remarks() const { return remarks_; }

  // Asked before each rewrite; false once a bisect limit is reached. Default: always true.
  bool MayRewrite() { return may_rewrite_ == nullptr || may_rewrite_(); }
  void set_may_rewrite(std::function<bool()> fn) { may_rewrite_ = std::move(fn); }

  // Rules (rewrite.h) that are left out, by name.
  bool RuleEnabled(std::string_view rule) const { return !disabled_rules_.contains(rule); }
  void DisableRule(std::string rule) { disabled_rules_.insert(std::move(rule)); }
  // Told of each rewrite, before it happens: the rule, the instruction and its replacement.
  using RuleTrace =
      std::function<void(std::string_view rule, const Instruction& old, const Instruction& to)>;
  void set_rule_trace(RuleTrace trace) { rule_trace_ = std::move(trace); }
  const RuleTrace& rule_trace() const { return rule_trace_; }

  std::string_view pass() const { return pass_; }
  int64_t pass_number() const { return pass_number_; }  // in the run of the pipeline, from 1
  void set_pass(std::string_view pass, int64_t number = 0) {
    pass_ = pass;
    pass_number_ = number;
  }

 private:
  void Emit(Remark kind, const Instruction& instruction, std::string message);

  Analyses analyses_;
  int threads_ = 1;
  std::unique_ptr<ThreadPool> pool_;  // made when it is first needed
  std::string pass_;
  int64_t pass_number_ = 0;
  std::map<std::pair<std::string, std::string>, int64_t> counts_;
  std::vector<RemarkEntry> remarks_;
  bool wants_remarks_ = false;
  std::function<bool()> may_rewrite_;
  std::set<std::string, std::less<>> disabled_rules_;
  RuleTrace rule_trace_;
};

// What a rule or a pass may do to values.
enum class RuleSafety : uint8_t {
  kExact,           // bit-identical results
  kExceptSpecials,  // may differ where -0, NaN or infinities are involved
  kReassociate,     // may change rounding
};
using enum RuleSafety;

// A class that is not exact says so: `static constexpr RuleSafety kSafety = kReassociate;`. One
// whose changes keep analyses true says which: `static constexpr AnalysisSet kPreserves = …;`.
class Pass {
 public:
  virtual ~Pass() = default;
  // Returns whether the module changed. The module is valid before and must be valid after.
  virtual absl::StatusOr<bool> Run(Module& module, PassContext& context) = 0;
};

// A pass, or one of the other bases, with options that a struct holds: `options_`.
//
//   class DotSplitter final : public WithOptions<Pass, DotSplitterOptions> {
//    public:
//     using WithOptions::WithOptions;
template <class Base, class O>
class WithOptions : public Base {
 public:
  using Options = O;
  explicit WithOptions(Options options = {}) : options_(std::move(options)) {}

 protected:
  Options options_;
};

// Runs `pass` as a part of the pass that is running. What is known of the module is found out anew
// for it and after it: references to analyses end here.
absl::StatusOr<bool> RunPart(Pass& pass, Module& module, PassContext& context);
inline absl::StatusOr<bool> RunPart(Pass&& pass, Module& module, PassContext& context) {
  return RunPart(pass, module, context);
}

// Calls `f` with each of `items`, which are pointers. Whether it changed something, once at least.
template <class Items, class F>
absl::StatusOr<bool> ChangesAny(const Items& items, const F& f) {
  bool changed = false;
  for (auto* const item : items) {
    ASSIGN_OR_RETURN(const bool here, absl::StatusOr<bool>(f(*item)));
    changed |= here;
  }
  return changed;
}

// One `name=value` of a pass's option text, with its place in the pipeline text.
struct OptionText {
  std::string name;
  std::string value;  // empty for a bare name: true
  bool has_value = false;
  SourceLoc loc;
};
using OptionTexts = std::vector<OptionText>;

// What the registry knows about one option.
struct OptionInfo {
  std::string name;
  std::string type;  // "bool", "int", "float", "string"
  std::string default_value;
};

using MadePass = absl::StatusOr<std::unique_ptr<Pass>>;

namespace internal {
absl::Status ParseOption(const OptionText& text, bool& out);
absl::Status ParseOption(const OptionText& text, int64_t& out);
absl::Status ParseOption(const OptionText& text, double& out);
absl::Status ParseOption(const OptionText& text, std::string& out);
std::string OptionValue(bool value);
std::string OptionValue(int64_t value);
std::string OptionValue(double value);
std::string OptionValue(const std::string& value);
inline std::string OptionType(bool) { return "bool"; }
inline std::string OptionType(int64_t) { return "int"; }
inline std::string OptionType(double) { return "float"; }
inline std::string OptionType(const std::string&) { return "string"; }
// An error where one name stands there again.
absl::Status OptionGivenTwice(const OptionTexts& texts);
absl::Status UnknownOption(const OptionText& text, const std::vector<OptionInfo>& known,
                           std::string_view pass);

template <class P>
concept HasOptions = requires {
  typename P::Options;
};

template <class P>
constexpr RuleSafety SafetyOf() {
  if constexpr (requires { P::kSafety; }) return P::kSafety;
  return kExact;
}

template <class P>
constexpr AnalysisSet PreservedBy() {
  if constexpr (requires { P::kPreserves; }) return P::kPreserves;
  return {};
}

template <class P>
std::vector<OptionInfo> OptionsOf() {
  std::vector<OptionInfo> result;
  if constexpr (HasOptions<P>) {
    const typename P::Options defaults;
    ForEachField<typename P::Options>([&](const auto& field) {
      const auto& value = defaults.*field.member;
      result.push_back({std::string(field.name), OptionType(value), OptionValue(value)});
    });
  }
  return result;
}

template <class P>
MadePass MakeWithOptions(const OptionTexts& texts, std::string_view name) {
  if constexpr (HasOptions<P>) {
    typename P::Options options;
    if (absl::Status status = OptionGivenTwice(texts); !status.ok()) return status;
    for (const OptionText& text : texts) {
      absl::Status status = UnknownOption(text, OptionsOf<P>(), name);
      ForEachField<typename P::Options>([&](const auto& field) {
        if (field.name == text.name) status = ParseOption(text, options.*field.member);
      });
      if (!status.ok()) return status;
    }
    return std::unique_ptr<Pass>(std::make_unique<P>(std::move(options)));
  } else {
    for (const OptionText& text : texts) return UnknownOption(text, {}, name);
    return std::unique_ptr<Pass>(std::make_unique<P>());
  }
}
}  // namespace internal

// Defines the functions that the row of passes.def declares; the second macro all but Make##Class,
// which is written by hand where one class has several names.
#define HLO_DEFINE_PASS(Class)                                              \
  MadePass Make##Class(const OptionTexts& options, std::string_view name) { \
    return internal::MakeWithOptions<Class>(options, name);                 \
  }                                                                         \
  HLO_DEFINE_PASS_FACTS(Class)
#define HLO_DEFINE_PASS_FACTS(Class)                                                  \
  std::vector<OptionInfo> OptionsOf##Class() { return internal::OptionsOf<Class>(); } \
  RuleSafety SafetyOf##Class() { return internal::SafetyOf<Class>(); }                \
  AnalysisSet PreservedBy##Class() { return internal::PreservedBy<Class>(); }

}  // namespace hlo
