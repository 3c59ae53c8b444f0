#include "lib/ir/async_sugar.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/instruction.h"
#include "lib/ir/name_uniquer.h"
#include "lib/ops/opcode_groups.h"
#include "lib/ops/opcode_set.h"

namespace hlo {
namespace {

// What an opcode's word with `-start` is.
enum class Word { kNothing, kAnotherOpcode, kSugar };

Word WordOf(Opcode opcode) {
  constexpr OpcodeSet kUnwrapped = {Opcode::kAsyncStart, Opcode::kAsyncUpdate, Opcode::kAsyncDone,
                                    Opcode::kParameter, Opcode::kConstant};
  constexpr OpcodeSet kWithOwnStart = {
      Opcode::kAllGather, Opcode::kAllReduce, Opcode::kCollectivePermute,
      Opcode::kCopy,      Opcode::kRecv,      Opcode::kSend};
  if (kUnwrapped.Has(opcode)) return Word::kNothing;
  return kWithOwnStart.Has(opcode) ? Word::kAnotherOpcode : Word::kSugar;
}

// Holds nothing but parameters and its root.
bool IsTrivial(const Computation& wrapped) {
  for (const Instruction* instruction : wrapped.instructions()) {
    if (instruction != wrapped.root() && instruction->opcode() != Opcode::kParameter) return false;
  }
  return true;
}

bool IsStep(const Instruction& instruction) { return kAsyncSteps.Has(instruction.opcode()); }

// The start and the steps that follow it; empty when they branch.
std::vector<const Instruction*> ChainFrom(const Instruction& start) {
  std::vector<const Instruction*> chain = {&start};
  for (const Instruction* at = &start; at != nullptr;) {
    const Instruction* next = nullptr;
    for (const Use& use : at->uses()) {
      if (!IsStep(*use.user) || use.operand_index != 0) continue;
      if (next != nullptr) return {};
      next = use.user;
    }
    if (next != nullptr) chain.push_back(next);
    at = next;
  }
  return chain;
}

bool IsOnThread(const Computation& wrapped, std::string_view thread) {
  std::vector<const Computation*> stack = {&wrapped};
  absl::flat_hash_set<const Computation*> seen = {&wrapped};
  while (!stack.empty()) {
    const Computation* top = stack.back();
    stack.pop_back();
    if (top->execution_thread() != thread) return false;
    for (const Instruction* instruction : top->instructions()) {
      for (const Computation* callee : instruction->calls()) {
        if (seen.insert(callee).second) stack.push_back(callee);
      }
    }
  }
  return true;
}

// Whether nothing is said of the instruction, as far as it prints.
bool IsPlain(const Instruction& instruction, const PrintOptions& options) {
  if (instruction.extras() == nullptr) return true;
  const Extras& extras = *instruction.extras();
  const bool has_metadata = options.metadata && extras.metadata.IsPrintable();
  return !extras.control && !extras.sharding && !has_metadata &&
         extras.frontend_attributes.empty() && extras.backend_config.empty() &&
         !extras.statistics && !extras.origin && !extras.result_accuracy;
}

// The root's operands are the parameters in their order, and nothing hangs on those.
bool PassesParameters(const Computation& wrapped, const PrintOptions& options) {
  const Instruction& root = *wrapped.root();
  if (root.operand_count() != wrapped.parameter_count() || root.has_control_edges()) return false;
  for (int i = 0; i < root.operand_count(); ++i) {
    const Instruction* parameter = wrapped.parameter(i);
    if (root.operand(i) != parameter || !IsPlain(*parameter, options) ||
        parameter->attrs<ParameterAttrs>().parameter_replication.has_value())
      return false;
  }
  return true;
}

// Whether a reader can build the operation from the shapes of a start that has only the first of
// its operands, or no result yet; updates bind the others.
bool MayBindLate(const Instruction& root) {
  const Opcode opcode = root.opcode();
  if (opcode == Opcode::kCall || opcode == Opcode::kFusion) return true;  // by their computations
  if (opcode == Opcode::kCustomCall)
    return !root.attrs<CustomCallAttrs>().operand_layout_constraints.has_value();
  // A comparison reads the type of an operand.
  return IsElementwise(opcode) && opcode != Opcode::kCompare;
}

// Whether the shapes of the chain say those of the wrapped computation.
bool ShapesAreSaid(const std::vector<const Instruction*>& chain, const Computation& wrapped) {
  const Instruction& root = *wrapped.root();
  const auto is_bound = [](Shape shape) {
    return shape.IsTuple() && shape.element_count_of_tuple() >= 2 && shape.element(0).IsTuple();
  };
  const Shape first = chain[0]->shape();
  if (!is_bound(first)) return false;
  const auto bound = first.element(0).elements();
  std::vector<Shape> parameters(bound.begin(), bound.end());
  Shape result = first.element(1);
  const bool is_late =
      static_cast<int>(parameters.size()) != wrapped.parameter_count() || result != root.shape();
  if (is_late && !MayBindLate(root)) return false;
  const int most = Info(root.opcode()).operands.max;
  while (most > 0 && static_cast<int>(parameters.size()) < most)
    parameters.push_back(Shape::Array(ElementType::kF32, {1}));
  if (root.opcode() == Opcode::kCall || root.opcode() == Opcode::kFusion) {
    const Signature callee = root.call(0)->signature();
    result = callee.result;
    if (parameters.size() < callee.parameters.size()) parameters.resize(callee.parameters.size());
    std::copy(callee.parameters.begin(), callee.parameters.end(), parameters.begin());
  }
  for (size_t at = 1; at < chain.size(); ++at) {
    const Shape shape = chain[at]->shape();
    if (chain[at]->opcode() == Opcode::kAsyncDone) {
      result = shape;
      continue;
    }
    if (!is_bound(shape)) return false;
    const auto patched = shape.element(0).elements();
    if (parameters.size() < patched.size()) parameters.resize(patched.size());
    std::copy(patched.begin(), patched.end(), parameters.begin());
    result = shape.element(1);
  }
  if (result != root.shape() || static_cast<int>(parameters.size()) != wrapped.parameter_count())
    return false;
  for (int i = 0; i < wrapped.parameter_count(); ++i) {
    if (parameters[static_cast<size_t>(i)] != wrapped.parameter(i)->shape()) return false;
  }
  return true;
}

// Whether what the chain carries besides its meaning is what the root carries. A reader gives the
// root what the last of the chain has; some of it prints at the start, whose own it then becomes.
bool ExtrasAreSaid(const std::vector<const Instruction*>& chain, const Instruction& root,
                   const PrintOptions& options) {
  static const Extras kNone;
  // As far as it prints.
  const auto metadata_of = [&](const Extras& extras) {
    return options.metadata && !options.metadata_only_op_name && extras.metadata.IsPrintable()
               ? extras.metadata
               : OpMetadata();
  };
  const auto extras_of = [](const Instruction& instruction) -> const Extras& {
    return instruction.extras() == nullptr ? kNone : *instruction.extras();
  };
  const Extras* last_metadata = &kNone;
  const Extras* last_origin = &kNone;
  const Extras* last_config = &kNone;
  const Extras* last_attributes = &kNone;
  const Extras* last_statistics = &kNone;
  for (const Instruction* step : chain) {
    const Extras& extras = extras_of(*step);
    if (metadata_of(extras) != OpMetadata()) last_metadata = &extras;
    if (extras.origin) last_origin = &extras;
    if (!extras.backend_config.empty()) last_config = &extras;
    if (!extras.frontend_attributes.empty()) last_attributes = &extras;
    if (extras.statistics) last_statistics = &extras;
  }
  const Extras& own = extras_of(root);
  const Extras& start = extras_of(*chain[0]);
  if (own.sharding) return false;
  const OpMetadata metadata = metadata_of(own);
  if (metadata != OpMetadata() && metadata != metadata_of(*last_metadata)) return false;
  if (own.origin && own.origin != last_origin->origin) return false;
  if (options.backend_config && !own.backend_config.empty() &&
      own.backend_config != last_config->backend_config)
    return false;
  if (own.frontend_attributes != last_attributes->frontend_attributes ||
      own.frontend_attributes.empty() != start.frontend_attributes.empty())
    return false;
  return own.statistics == last_statistics->statistics &&
         own.statistics.has_value() == start.statistics.has_value();
}

// Whether aliases of a start with this root would be read as those of the root.
bool HasAliasesOfItsOwn(const Instruction& root) {
  return root.opcode() == Opcode::kCustomCall || root.opcode() == Opcode::kFusion;
}

// Whether the word and attributes of the root, and what the chain prints, say all of a trivial
// computation.
bool SugarIsLossless(const Instruction& start, const Computation& wrapped,
                     const PrintOptions& options) {
  const Instruction& root = *wrapped.root();
  const AsyncAttrs& attrs = start.attrs<AsyncAttrs>();
  if (WordOf(root.opcode()) != Word::kSugar || wrapped.callers().size() != 1 ||
      (HasAliasesOfItsOwn(root) && !attrs.output_to_operand_aliasing.empty()))
    return false;
  // Reading a thread's name puts all that is called on that thread.
  const std::string& thread = attrs.async_execution_thread;
  if (!IsOnThread(wrapped, thread)) return false;
  const std::vector<const Instruction*> chain = ChainFrom(start);
  return !chain.empty() && PassesParameters(wrapped, options) && ShapesAreSaid(chain, wrapped) &&
         ExtrasAreSaid(chain, root, options);
}

// One reading of the text: gives out names as the reader does and collects the starts in short form
// whose computations get a name before the one that the text gives it to.
class Reading {
 public:
  Reading(const absl::flat_hash_set<const Instruction*>& generic, const PrintOptions& options)
      : generic_(generic), options_(options) {}

  // Whether each name in the text stays with what it names.
  bool NamesStay(const std::vector<PrintedComputation>& order) {
    absl::flat_hash_set<const Computation*> unprinted;
    for (const PrintedComputation& printed : order) {
      for (const Instruction* instruction : printed.instructions) {
        if (IsShort(*instruction)) unprinted.insert(instruction->call(0));
      }
    }
    for (const PrintedComputation& printed : order) {
      if (unprinted.contains(printed.computation)) continue;
      for (const Instruction* instruction : printed.instructions) {
        if (IsShort(*instruction)) Make(*instruction);
      }
      Give(printed.computation->name(), computations_);
      for (const Instruction* instruction : printed.instructions)
        Give(instruction->name(), instructions_);
    }
    return takers_.empty();
  }
  const std::vector<const Instruction*>& takers() const { return takers_; }

 private:
  struct Names {
    NameUniquer uniquer;
    absl::flat_hash_map<std::string, const Instruction*> made;  // by the start that they are of
  };

  bool IsShort(const Instruction& instruction) const {
    return instruction.opcode() == Opcode::kAsyncStart && !generic_.contains(&instruction) &&
           SugaredComputation(instruction, options_) != nullptr;
  }
  // The names of a computation that a reader makes.
  void Make(const Instruction& start) {
    const Computation& wrapped = *start.call(0);
    const auto take = [&](std::string_view name, Names& names) {
      names.made.emplace(names.uniquer.Unique(name), &start);
    };
    take("async_wrapped", computations_);
    for (int i = 0; i < wrapped.parameter_count(); ++i) take("async_param", instructions_);
    take(wrapped.root()->opcode_text(), instructions_);
  }
  void Give(std::string_view name, Names& names) {
    if (names.uniquer.TakeAsIs(name)) return;
    std::string_view plain = name;
    if (plain.ends_with(".0")) plain.remove_suffix(2);  // the same name
    const auto maker = names.made.find(std::string(plain));
    if (maker != names.made.end()) takers_.push_back(maker->second);
    names.uniquer.Unique(name);
  }

  const absl::flat_hash_set<const Instruction*>& generic_;
  const PrintOptions& options_;
  Names computations_, instructions_;
  std::vector<const Instruction*> takers_;
};

}  // namespace

const Computation* SugaredComputation(const Instruction& start, const PrintOptions& options) {
  if (start.call_count() == 0) return nullptr;
  const Computation* wrapped = start.call(0);
  if (!IsTrivial(*wrapped) || WordOf(wrapped->root()->opcode()) == Word::kNothing) return nullptr;
  return options.lossless && !SugarIsLossless(start, *wrapped, options) ? nullptr : wrapped;
}

absl::flat_hash_set<const Instruction*> StartsThatTakeNames(
    const std::vector<PrintedComputation>& order, const PrintOptions& options) {
  // A computation that prints in full brings names of its own, which others may take.
  constexpr int kMostReadings = 8;
  absl::flat_hash_set<const Instruction*> result;
  for (int i = 0; i < kMostReadings; ++i) {
    Reading reading(result, options);
    if (reading.NamesStay(order)) return result;
    result.insert(reading.takers().begin(), reading.takers().end());
  }
  for (const PrintedComputation& printed : order) {
    for (const Instruction* instruction : printed.instructions) {
      if (instruction->opcode() == Opcode::kAsyncStart) result.insert(instruction);
    }
  }
  return result;
}

}  // namespace hlo
