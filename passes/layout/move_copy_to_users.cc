#include "passes/layout/move_copy_to_users.h"

#include "lib/types/memory_order.h"

namespace hlo {
namespace {

// What is copied, if `operand` is a copy that may go elsewhere; null if not.
Instruction* Copied(Instruction* operand) {
  if (operand->opcode() != Opcode::kCopy || operand->has_control_edges() ||
      operand->parent()->is_fusion() || !operand->shape().IsArray())
    return nullptr;
  Instruction* const copied = operand->operand(0);
  return DifferInOrderOnly(copied->shape(), operand->shape()) ? copied : nullptr;
}

// `user` with other operands, lying as `like`, and a copy of that to where it lay.
Instruction* CopyAfter(Instruction* user, absl::Span<Instruction* const> operands, Shape like,
                       Rewriter& rewriter) {
  const Shape shape = user->shape();
  Layout layout = shape.WithMissingLayoutsFilled().layout();
  layout.minor_to_major = like.WithMissingLayoutsFilled().layout().minor_to_major;
  Instruction* const early =
      rewriter.computation()->AddClone(*user, shape.WithLayout(layout), operands);
  if (early->extras() != nullptr) {
    early->clear_sharding();
    early->mutable_extras().origin.reset();
  }
  return rewriter.OpWithShape(Opcode::kCopy, shape, {early});
}

// op(copy(x), …)  =>  copy(op(x, …))
Instruction* AfterReader(Instruction* user, Rewriter& rewriter) {
  Instruction* const x = Copied(user->operand(0));
  if (x == nullptr || !user->shape().IsArray()) return nullptr;
  std::vector<Instruction*> operands = user->operand_vector();
  operands[0] = x;
  return CopyAfter(user, operands, x->shape(), rewriter);
}

// op(copy(x), copy(y))  =>  copy(op(x, y)), x and y of one shape and layout
Instruction* AfterReaderOfTwo(Instruction* user, Rewriter& rewriter) {
  Instruction *const x = Copied(user->operand(0)), *const y = Copied(user->operand(1));
  if (x == nullptr || y == nullptr || x->shape() != y->shape()) return nullptr;
  return CopyAfter(user, {x, y}, x->shape(), rewriter);
}

// concatenate(copy(x), copy(y), …)  =>  copy(concatenate(x, y, …)), all of one layout
Instruction* AfterConcatenate(Instruction* concatenate, Rewriter& rewriter) {
  std::vector<Instruction*> operands;
  for (Instruction* operand : concatenate->operands()) {
    Instruction* const copied = Copied(operand);
    if (copied == nullptr) return nullptr;
    const Shape like = operands.empty() ? copied->shape() : operands[0]->shape();
    if (copied->shape().WithMissingLayoutsFilled().layout() !=
        like.WithMissingLayoutsFilled().layout())
      return nullptr;
    operands.push_back(copied);
  }
  return CopyAfter(concatenate, operands, operands[0]->shape(), rewriter);
}

// reduce(copy(x), z)  =>  reduce(x, z): it reads what it reduces in any order.
Instruction* ReadByReduce(Instruction* reduce, Rewriter& rewriter) {
  Instruction* const x = Copied(reduce->operand(0));
  if (x == nullptr || !reduce->shape().IsArray()) return nullptr;
  return rewriter.computation()->AddClone(*reduce, reduce->shape(), {x, reduce->operand(1)});
}

constexpr Rule kRules[] = {
    {"copy-of-concatenated", Opcode::kConcatenate, kExact, AfterConcatenate},
    {"copy-of-padded", Opcode::kPad, kExact, AfterReader},
    {"copy-of-reduced", Opcode::kReduce, kReassociate, ReadByReduce},
    {"copy-of-reversed", Opcode::kReverse, kExact, AfterReader},
    {"copy-of-slice", Opcode::kSlice, kExact, AfterReader},
    {"copy-of-dynamic-slice", Opcode::kDynamicSlice, kExact, AfterReader},
    {"copy-of-windows", Opcode::kReduceWindow, kReassociate, AfterReader},
};

constexpr OpcodeSet kNotOnElements = {Opcode::kCopy, Opcode::kReducePrecision};

// Those above and one for each operation on the elements of one or two arrays.
const std::vector<Rule>& Rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all(std::begin(kRules), std::end(kRules));
    for (int i = 0; i < kOpcodeCount; ++i) {
      const auto opcode = static_cast<Opcode>(i);
      if (!IsElementwise(opcode) || kNotOnElements.Has(opcode)) continue;
      const int operands = Info(opcode).operands.max;
      if (operands == 1) all.push_back({"copy-of-unary", opcode, kExact, AfterReader});
      if (operands == 2) all.push_back({"copy-of-binary", opcode, kExact, AfterReaderOfTwo});
    }
    return all;
  }();
  return rules;
}

}  // namespace

MoveCopyToUsers::MoveCopyToUsers() : RewritePass(this, Rules()) {}

HLO_DEFINE_PASS(MoveCopyToUsers)

}  // namespace hlo
