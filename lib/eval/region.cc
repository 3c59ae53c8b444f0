#include "lib/eval/region.h"

#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "lib/eval/strided.h"
#include "lib/ops/opcode_groups.h"
#include "lib/support/status.h"

namespace hlo {
namespace {

bool IsScalarTree(Shape shape) {
  if (shape.IsTuple()) {
    for (Shape element : shape.elements()) {
      if (!IsScalarTree(element)) return false;
    }
    return true;
  }
  return shape.IsScalar();
}

}  // namespace

// Values are lists of registers: one for a scalar, several for a tuple of scalars.
struct RegionProgram::Compiler {
  RegionProgram& program;
  using Value = std::vector<int>;
  bool failed = false;

  int AddRegister(ElementType type) {
    Register r{type};
    r.offset = static_cast<int64_t>(program.slab_.size());
    program.slab_.resize(program.slab_.size() + static_cast<size_t>(kLanes * ByteSize(type)));
    program.registers_.push_back(r);
    return static_cast<int>(program.registers_.size()) - 1;
  }

  absl::StatusOr<Value> CompileInstruction(const Instruction& inst,
                                           const std::vector<Value>& operands) {
    const Opcode opcode = inst.opcode();
    if (opcode == Opcode::kConstant && inst.shape().IsScalar() && !inst.literal().is_elided()) {
      const int constant = AddRegister(inst.shape().element_type());
      FillElements(inst.literal().data(), ByteSize(inst.shape().element_type()),
                   program.slab_.data() + program.registers_[static_cast<size_t>(constant)].offset,
                   kLanes);
      return Value{constant};
    }
    if (opcode == Opcode::kTuple) {
      Value all;
      for (const Value& operand : operands) {
        if (operand.size() != 1) return Fail();
        all.push_back(operand[0]);
      }
      return all;
    }
    if (opcode == Opcode::kGetTupleElement) {
      const size_t index = static_cast<size_t>(inst.tuple_index());
      return index < operands[0].size() ? Value{operands[0][index]} : Fail();
    }
    if (kElementCallers.Has(opcode)) {
      return CompileComputation(*inst.call(0), operands);
    }
    const bool same_type = inst.operand_count() > 0 && inst.operand(0)->shape() == inst.shape();
    if (kScalarKeepers.Has(opcode) && (same_type || opcode != Opcode::kCopy)) return operands[0];
    if (!ElementwiseOp::Takes(opcode) || !inst.shape().IsScalar()) return Fail();
    Step step{};
    ASSIGN_OR_RETURN(step.op, ElementwiseOp::Make(inst));
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].size() != 1) return Fail();
      step.inputs[i] = operands[i][0];
    }
    step.output = AddRegister(inst.shape().element_type());
    program.steps_.push_back(step);
    return Value{step.output};
  }

  Value Fail() {
    failed = true;
    return {0};
  }

  absl::StatusOr<Value> CompileComputation(const Computation& computation,
                                           const std::vector<Value>& parameters) {
    absl::flat_hash_map<const Instruction*, Value> values;
    for (const Instruction* inst : NeededInstructions(computation)) {
      if (!IsScalarTree(inst->shape())) return Fail();
      if (inst->opcode() == Opcode::kParameter) {
        values[inst] = parameters[static_cast<size_t>(inst->parameter_number())];
        continue;
      }
      std::vector<Value> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(values.at(operand));
      ASSIGN_OR_RETURN(Value value, CompileInstruction(*inst, operands));
      if (failed) return value;
      values[inst] = std::move(value);
    }
    return values.at(computation.root());
  }
};

std::vector<const Instruction*> NeededInstructions(const Computation& region) {
  absl::flat_hash_set<const Instruction*> read = {region.root()};
  std::vector<const Instruction*> needed;
  const auto order = region.PostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Instruction* const inst = *it;
    if (!read.contains(inst) && !inst->HasSideEffect()) continue;
    needed.push_back(inst);
    for (const Instruction* operand : inst->operands()) read.insert(operand);
  }
  absl::c_reverse(needed);
  return needed;
}

absl::StatusOr<std::unique_ptr<RegionProgram>> RegionProgram::Compile(
    const Computation& computation) {
  auto program = std::make_unique<RegionProgram>();
  Compiler compiler{*program};
  std::vector<Compiler::Value> parameters;
  for (const Instruction* parameter : computation.parameters()) {
    if (!parameter->shape().IsScalar()) return std::unique_ptr<RegionProgram>();
    Register r{parameter->shape().element_type()};
    r.parameter = program->parameter_count_++;
    program->registers_.push_back(r);
    parameters.push_back({r.parameter});
  }
  ASSIGN_OR_RETURN(program->results_, compiler.CompileComputation(computation, parameters));
  if (compiler.failed) return std::unique_ptr<RegionProgram>();
  program->pointers_.resize(program->registers_.size());

  const auto& registers = program->registers_;
  if (program->results_.size() == 1 &&
      registers[static_cast<size_t>(program->results_[0])].parameter >= 0) {
    program->forwarded_ = registers[static_cast<size_t>(program->results_[0])].parameter;
  }
  const Instruction* root = computation.root();
  if (program->steps_.size() == 1 && program->results_.size() == 1 && root->operand_count() == 2 &&
      program->results_[0] == program->steps_[0].output) {
    const int lhs = registers[static_cast<size_t>(program->steps_[0].inputs[0])].parameter;
    const int rhs = registers[static_cast<size_t>(program->steps_[0].inputs[1])].parameter;
    if (root->opcode() == Opcode::kCompare && lhs >= 0 && rhs >= 0) {
      const CompareAttrs& attrs = root->attrs<CompareAttrs>();
      program->simple_compare_ = {lhs, rhs, attrs.direction,
                                  attrs.type.value_or(ComparisonType::kFloat)};
    } else if (program->parameter_count_ == 2 &&
               ((lhs == 0 && rhs == 1) ||
                (lhs == 1 && rhs == 0 && IsCommutative(root->opcode())))) {
      program->simple_binary_ = root->opcode();
    }
  }
  return program;
}

void RegionProgram::Run(const uint8_t* const* parameters, uint8_t* const* results,
                        int64_t lanes) const {
  for (size_t r = 0; r < registers_.size(); ++r) {
    const Register& reg = registers_[r];
    pointers_[r] = reg.parameter >= 0 ? parameters[reg.parameter] : slab_.data() + reg.offset;
  }
  for (const Step& step : steps_) {
    const uint8_t* inputs[ElementwiseOp::kMaxArity];
    for (int i = 0; i < step.op.arity(); ++i)
      inputs[i] = pointers_[static_cast<size_t>(step.inputs[i])];
    step.op.Run(inputs, slab_.data() + registers_[static_cast<size_t>(step.output)].offset, lanes);
  }
  const size_t count = results_.size();
  if (count == 1) {
    const uint8_t* from = pointers_[static_cast<size_t>(results_[0])];
    const size_t bytes = static_cast<size_t>(lanes * ByteSize(result_type(0)));
    if (from != results[0]) std::memmove(results[0], from, bytes);
    return;
  }
  // A parameter that is returned may be overwritten by another result: it is saved first.
  std::vector<std::vector<uint8_t>> saved(count);
  for (size_t k = 0; k < count; ++k) {
    const Register& reg = registers_[static_cast<size_t>(results_[k])];
    if (reg.parameter < 0 || pointers_[static_cast<size_t>(results_[k])] == results[k]) continue;
    const uint8_t* from = pointers_[static_cast<size_t>(results_[k])];
    saved[k].assign(from, from + lanes * ByteSize(reg.type));
  }
  for (size_t k = 0; k < count; ++k) {
    const uint8_t* from =
        saved[k].empty() ? pointers_[static_cast<size_t>(results_[k])] : saved[k].data();
    const size_t bytes = static_cast<size_t>(lanes * ByteSize(result_type(static_cast<int>(k))));
    if (from != results[k]) std::memmove(results[k], from, bytes);
  }
}

}  // namespace hlo
