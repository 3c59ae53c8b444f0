#include "passes/simplify/constant_folding.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/eval/evaluator.h"
#include "lib/support/contains.h"
#include "lib/support/decision.h"
#include "lib/support/diagnostic.h"
#include "lib/types/elided.h"

namespace hlo {
namespace {

// Never evaluated, wherever they stand.
constexpr Opcode kUnfoldable[] = {Opcode::kAddDependency,
                                  Opcode::kAfterAll,
                                  Opcode::kAsyncDone,
                                  Opcode::kAsyncStart,
                                  Opcode::kAsyncUpdate,
                                  Opcode::kCopyDone,
                                  Opcode::kCopyStart,
                                  Opcode::kCustomCall,
                                  Opcode::kDomain,
                                  Opcode::kGetDimensionSize,
                                  Opcode::kPartitionId,
                                  Opcode::kReplicaId,
                                  Opcode::kRng,
                                  Opcode::kRngBitGenerator,
                                  Opcode::kRngGetAndUpdateState,
                                  Opcode::kRaggedAllToAll,
                                  Opcode::kRaggedDot,
                                  Opcode::kSetDimensionSize,
                                  Opcode::kOptimizationBarrier};

// Evaluated inside called computations only.
constexpr Opcode kNotAlone[] = {Opcode::kBroadcast, Opcode::kConstant,  Opcode::kFft,
                                Opcode::kIota,      Opcode::kParameter, Opcode::kTuple};

// Moves elements without computing with them.
constexpr Opcode kDataMovement[] = {
    Opcode::kBitcast, Opcode::kBitcastConvert, Opcode::kConcatenate,
    Opcode::kCopy,    Opcode::kDynamicSlice,   Opcode::kDynamicUpdateSlice,
    Opcode::kPad,     Opcode::kReshape,        Opcode::kReverse,
    Opcode::kSelect,  Opcode::kSlice,          Opcode::kTranspose};

bool IsKnown(const Instruction& value) {
  if (value.opcode() == Opcode::kTuple) {
    return absl::c_all_of(value.operands(), [](const Instruction* e) { return IsKnown(*e); });
  }
  return value.IsConstant() || value.opcode() == Opcode::kIota ||
         (value.opcode() == Opcode::kBroadcast && value.operand(0)->IsConstant());
}

bool HoldsConstant(const Instruction& value) {
  if (value.opcode() != Opcode::kTuple) return value.IsConstant();
  return absl::c_any_of(value.operands(), [](const Instruction* e) { return HoldsConstant(*e); });
}

bool IsElided(const Instruction& value) {
  if (value.IsConstant()) return HoldsElided(value.literal());
  if (value.opcode() == Opcode::kIota) return false;
  return absl::c_any_of(value.operands(), [](const Instruction* e) { return IsElided(*e); });
}

int64_t ElementsOf(Shape shape) {
  int64_t count = 0;
  ForEachLeaf(shape, [&count](Shape leaf, const ShapeIndex&) {
    count += leaf.IsArray() ? leaf.element_count() : 0;
  });
  return count;
}

bool HoldsFloats(Shape shape) {
  bool found = false;
  ForEachLeaf(shape, [&found](Shape leaf, const ShapeIndex&) {
    found |= leaf.IsArray() && (IsFloat(leaf.element_type()) || IsComplex(leaf.element_type()));
  });
  return found;
}

// `literal` under `shape`, which differs in layouts only.
Literal WithShape(const Literal& literal, Shape shape) {
  if (!shape.IsTuple()) return literal.WithShapeLayout(shape);
  std::vector<Literal> elements;
  for (int i = 0; i < shape.element_count_of_tuple(); ++i)
    elements.push_back(WithShape(literal.element(i), shape.element(i)));
  return Literal::Tuple(std::move(elements));
}

// `known`, if any, has the value `known_value`.
absl::StatusOr<Literal> ValueOf(const Instruction& value, Evaluator& evaluator,
                                const Instruction* known = nullptr,
                                const Literal* known_value = nullptr) {
  if (value.IsConstant()) return value.literal();
  if (&value == known) return *known_value;
  std::vector<Literal> operands;
  for (const Instruction* operand : value.operands()) {
    ASSIGN_OR_RETURN(Literal literal, ValueOf(*operand, evaluator, known, known_value));
    operands.push_back(std::move(literal));
  }
  if (value.opcode() == Opcode::kTuple) return Literal::Tuple(std::move(operands));
  return evaluator.EvaluateInstruction(value, operands);
}

class Folder {
 public:
  Folder(PassContext& context, const ConstantFoldingOptions& options)
      : context_(context),
        options_(options),
        aggressive_(options.level == FoldingLevel::kAggressive) {}

  absl::StatusOr<bool> RunOn(Computation& computation) {
    bool changed = PropagateArguments(computation);
    const std::vector<Instruction*> order = computation.PostOrder();
    looked_ahead_ = context_.threads() == 1 ? order.size() : 0;
    for (size_t i = 0; i < order.size(); ++i) {
      Instruction* instruction = order[i];
      if (IsUnused(*instruction)) continue;
      if (!HasKnownOperands(*instruction)) continue;
      if (i >= looked_ahead_) LookAhead(order, i);
      if (!context_.Allowed(*instruction, CanFold(*instruction))) continue;
      if (!context_.MayRewrite()) return changed;
      ASSIGN_OR_RETURN(const bool folded, Fold(*instruction));
      changed |= folded;
    }
    return changed;
  }

 private:
  static bool IsUnused(const Instruction& instruction) {
    return instruction.is_dead() || !instruction.is_used();
  }

  // ---- on several threads ----

  // An instruction and those above it that become known one after the other, each read by the next
  // one alone; their values.
  struct Chain {
    std::vector<Instruction*> instructions;
    std::vector<absl::StatusOr<Literal>> values;
  };

  Chain ChainFrom(Instruction* first) {
    constexpr size_t kLongest = 8;
    Chain chain{{first}, {}};
    while (chain.instructions.size() < kLongest) {
      const Instruction* last = chain.instructions.back();
      if (!last->shape().IsArray() || last->is_root() || !last->has_one_user()) return chain;
      Instruction* user = last->uses()[0].user;
      if (!HasKnownOperands(*user, last) || !CanFold(*user)) return chain;
      chain.instructions.push_back(user);
    }
    return chain;
  }

  void Evaluate(Chain& chain) const {
    EvalOptions eval;
    eval.max_work = options_.max_work;
    const Instruction* last = nullptr;
    Literal last_value;
    for (const Instruction* instruction : chain.instructions) {
      Evaluator evaluator(eval);
      chain.values.push_back(ValueOf(*instruction, evaluator, last, &last_value));
      const absl::StatusOr<Literal>& value = chain.values.back();
      if (!value.ok() || !Compatible(value->shape(), instruction->shape())) return;
      last = instruction;
      last_value = WithShape(*value, instruction->shape());
    }
  }

  // Evaluates what can be folded of order[from…] on the threads of the context, when it is enough
  // for them and not more than should be kept.
  void LookAhead(const std::vector<Instruction*>& order, size_t from) {
    constexpr int64_t kWorthThreads = 1 << 18;  // elements
    constexpr int64_t kMostKept = 1 << 26;
    ahead_.clear();
    std::vector<Chain> chains;
    absl::flat_hash_set<const Instruction*> taken;
    int64_t elements = 0;
    for (looked_ahead_ = from; looked_ahead_ < order.size() && elements < kMostKept;
         ++looked_ahead_) {
      Instruction* instruction = order[looked_ahead_];
      if (IsUnused(*instruction) || taken.contains(instruction) ||
          !HasKnownOperands(*instruction) || !CanFold(*instruction))
        continue;
      chains.push_back(ChainFrom(instruction));
      for (const Instruction* link : chains.back().instructions) {
        taken.insert(link);
        elements += ElementsOf(link->shape());
        for (const Instruction* operand : link->operands())
          elements += ElementsOf(operand->shape());
      }
    }
    if (chains.size() < 2 || elements < kWorthThreads) return;
    context_.ParallelFor(static_cast<int64_t>(chains.size()),
                         [&](int64_t i) { Evaluate(chains[static_cast<size_t>(i)]); });
    for (Chain& chain : chains) {
      for (size_t k = 0; k < chain.values.size(); ++k)
        ahead_.emplace(chain.instructions[k], std::move(chain.values[k]));
    }
  }

  // ---- one after the other ----

  absl::StatusOr<Literal> ValueOfFolded(const Instruction& instruction) {
    if (const auto at = ahead_.find(&instruction); at != ahead_.end()) return std::move(at->second);
    EvalOptions eval;
    eval.max_work = options_.max_work;
    Evaluator evaluator(eval);
    return ValueOf(instruction, evaluator);
  }

  // call(x, c), call(y, c)  =>  the parameter for c reads a copy of c inside the callee
  bool PropagateArguments(Computation& computation) {
    const absl::Span<const CallSite> sites = computation.callers();
    if (sites.empty()) return false;
    for (const CallSite& site : sites) {
      if (site.caller->opcode() != Opcode::kCall) return false;
    }
    std::vector<int> constant_parameters;
    for (int i = 0; i < computation.parameter_count(); ++i) {
      if (IsSameConstantEverywhere(sites, i)) constant_parameters.push_back(i);
    }
    // All of them: the call itself can be folded.
    if (static_cast<int>(constant_parameters.size()) == computation.parameter_count()) return false;
    bool changed = false;
    for (int i : constant_parameters) {
      Instruction* parameter = computation.parameter(i);
      if (!parameter->has_uses() || !context_.MayRewrite()) continue;
      Instruction* constant = computation.AddConstant(
          WithShape(sites[0].caller->operand(i)->literal(), parameter->shape()));
      constant->set_loc(parameter->loc());
      parameter->ReplaceAllUsesWith(constant);
      context_.Count("arguments");
      changed = true;
    }
    return changed;
  }

  static bool IsSameConstantEverywhere(absl::Span<const CallSite> sites, int parameter) {
    const Instruction* first = sites[0].caller->operand(parameter);
    return absl::c_all_of(sites, [&](const CallSite& site) {
      const Instruction* argument = site.caller->operand(parameter);
      return argument->IsConstant() && first->IsConstant() && !argument->literal().is_elided() &&
             argument->literal() == first->literal();
    });
  }

  // `pending`, if any, is going to be a constant.
  bool HasKnownOperands(const Instruction& instruction,
                        const Instruction* pending = nullptr) const {
    if (Contains(kNotAlone, instruction.opcode()) || instruction.operand_count() == 0) return false;
    bool has_constant = false;
    for (const Instruction* operand : instruction.operands()) {
      if (operand != pending && !IsKnown(*operand)) return false;
      has_constant |= operand == pending || HoldsConstant(*operand);
    }
    return has_constant || aggressive_;
  }

  Decision CanFold(const Instruction& instruction) {
    const Opcode opcode = instruction.opcode();
    if (!Evaluable(instruction))
      return No("`{}` cannot be evaluated at compile time", Text(opcode));
    if (instruction.has_control_edges()) return No("it is ordered by control edges");
    if (IsElided(instruction)) return No("an operand is a constant whose value was elided");
    if (instruction.shape().has_dynamic_dims()) return No("its shape is dynamic");
    if (opcode == Opcode::kPad && instruction.operand(0)->opcode() == Opcode::kBroadcast) {
      return No("padding a broadcast is smaller than its value");
    }
    if (ChangesSubByteWidth(instruction))
      return No("it regroups the bits of `{}`",
                Text(instruction.operand(0)->shape().element_type()));
    if (!options_.fold_float_arithmetic && !Contains(kDataMovement, opcode) &&
        ComputesWithFloats(instruction)) {
      return No("arithmetic on floats is not folded");
    }
    return aggressive_ ? Yes() : SmallEnough(instruction);
  }

  // Structure only; the answers for called computations are kept.
  bool Evaluable(const Instruction& instruction) {
    const Opcode opcode = instruction.opcode();
    if (Contains(kUnfoldable, opcode) || HasTrait(opcode, kCollective) ||
        instruction.HasOwnSideEffect())
      return false;
    if (opcode == Opcode::kWhile && !aggressive_) return false;
    for (const Computation* callee : instruction.calls()) {
      auto it = evaluable_.find(callee);
      if (it == evaluable_.end()) {
        bool all = true;
        for (const Instruction* inner : callee->instructions()) all = all && Evaluable(*inner);
        it = evaluable_.emplace(callee, all).first;
      }
      if (!it->second) return false;
    }
    return true;
  }

  static bool ChangesSubByteWidth(const Instruction& instruction) {
    if (instruction.opcode() != Opcode::kBitcast && instruction.opcode() != Opcode::kBitcastConvert)
      return false;
    const ElementType from = instruction.operand(0)->shape().element_type();
    const ElementType to = instruction.shape().element_type();
    return BitWidth(from) != BitWidth(to) && (IsSubByte(from) || IsSubByte(to));
  }

  static bool ComputesWithFloats(const Instruction& instruction) {
    if (HoldsFloats(instruction.shape())) return true;
    return absl::c_any_of(instruction.operands(),
                          [](const Instruction* operand) { return HoldsFloats(operand->shape()); });
  }

  Decision SmallEnough(const Instruction& instruction) const {
    int64_t operands = 0;
    for (const Instruction* operand : instruction.operands())
      operands += ElementsOf(operand->shape());
    const int64_t result = ElementsOf(instruction.shape());
    if (std::max(operands, result) <= options_.max_elements) return Yes();
    return No("it has {} operand elements and {} result elements; the limit is {}", operands,
              result, options_.max_elements);
  }

  absl::StatusOr<bool> Fold(Instruction& instruction) {
    const absl::StatusOr<Literal> value = ValueOfFolded(instruction);
    if (!value.ok()) {
      if (value.status().code() == absl::StatusCode::kInternal) return value.status();
      context_.Missed(instruction, DiagnosticsOf(value.status()).front().message);
      return false;
    }
    if (!Compatible(value->shape(), instruction.shape()))
      return false;  // a dynamic size inside a tuple
    if (instruction.shape().IsTuple() && options_.is_layout_sensitive)
      return FoldElements(instruction, *value);
    Put(instruction, *value);
    return true;
  }

  // Layouts of tuple elements must not move: each get-tuple-element becomes a constant of its own.
  bool FoldElements(Instruction& tuple, const Literal& value) {
    const std::vector<Instruction*> users = tuple.users();
    for (const Instruction* user : users) {
      if (user->opcode() != Opcode::kGetTupleElement || !user->shape().IsArray() ||
          user->has_control_edges() || user->is_root()) {
        return false;
      }
    }
    if (users.empty()) return false;
    for (Instruction* user : users)
      Put(*user, value.element(static_cast<int>(user->tuple_index())));
    return true;
  }

  // A constant for each array of `value`, tuples of them where it has tuples: back ends give each
  // array a place of its own, and get-tuple-elements see which one they read.
  Instruction* MakeConstants(const Instruction& like, const Literal& value, Shape shape) {
    Computation& computation = *like.parent();
    Instruction* made = nullptr;
    if (shape.IsTuple()) {
      std::vector<Instruction*> elements;
      for (int i = 0; i < shape.element_count_of_tuple(); ++i)
        elements.push_back(MakeConstants(like, value.element(i), shape.element(i)));
      made = computation.Add(Opcode::kTuple, shape, elements);
    } else {
      made = computation.AddConstant(value.WithShapeLayout(shape));
    }
    made->set_loc(like.loc());
    return made;
  }

  void Put(Instruction& instruction, const Literal& value) {
    context_.Passed(instruction, "its value is known");
    Computation& computation = *instruction.parent();
    const std::vector<Instruction*> operands = instruction.operand_vector();
    Instruction* constant = MakeConstants(instruction, value, instruction.shape());
    if (instruction.sharding() != nullptr) constant->set_sharding(*instruction.sharding());
    computation.Replace(&instruction, constant);
    for (Instruction* operand : operands) {
      if (!operand->is_dead() && !operand->has_control_edges()) computation.RemoveUnused(operand);
    }
    context_.Count("folded");
  }

  PassContext& context_;
  const ConstantFoldingOptions& options_;
  bool aggressive_;
  absl::flat_hash_map<const Computation*, bool> evaluable_;
  absl::flat_hash_map<const Instruction*, absl::StatusOr<Literal>> ahead_;  // values by LookAhead
  size_t looked_ahead_ = 0;  // of the computation's instructions
};

}  // namespace

absl::StatusOr<bool> ConstantFolding::Run(Module& module, PassContext& context) {
  std::vector<Computation*> order = context.NonFusionComputations(module);
  absl::c_reverse(order);  // callers first: arguments flow down
  Folder folder(context, options_);
  return ChangesAny(order, [&](Computation& computation) { return folder.RunOn(computation); });
}

absl::Status ParseOption(const OptionText& text, FoldingLevel& out) {
  if (text.value == "default") {
    out = FoldingLevel::kDefault;
  } else if (text.value == "aggressive") {
    out = FoldingLevel::kAggressive;
  } else {
    return Error(text.loc, "option `{}` expects `default` or `aggressive`, found `{}`", text.name,
                 text.value);
  }
  return absl::OkStatus();
}

std::string OptionValue(FoldingLevel level) {
  return level == FoldingLevel::kDefault ? "default" : "aggressive";
}
std::string OptionType(FoldingLevel) { return "default|aggressive"; }

HLO_DEFINE_PASS(ConstantFolding)

}  // namespace hlo
