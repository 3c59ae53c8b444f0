#include "backends/cpu/tile/element_functions.h"

#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace hlo::cpu::tile {
namespace {

// Code of fewer instructions is not worth a call: fifty sines that are called run 5 % longer.
constexpr unsigned kShortest = 64;

bool MayBeLong(const Node& node) {
  return node.op == Op::kElement && HasTrait(node.opcode, kTranscendental);
}

// The node of a value that is the same constant in every lane, or null.
const Node* ConstantOf(const Kernel& kernel, Value v) {
  const auto node_of = [&kernel](Value value) -> const Node* {
    const int32_t n = kernel.values[static_cast<size_t>(value)].node;
    return n < 0 ? nullptr : &kernel.nodes[static_cast<size_t>(n)];
  };
  const Node* node = node_of(v);
  if (node != nullptr && node->op == Op::kSplat) node = node_of(node->operands[0]);
  return node != nullptr && node->op == Op::kConstant ? node : nullptr;
}

// Such a function would have to save all registers that it is to keep, just in case.
bool HasCalls(const llvm::Function& function) {
  const llvm::const_inst_range instructions = llvm::instructions(function);
  return std::any_of(instructions.begin(), instructions.end(), [](const llvm::Instruction& i) {
    return llvm::isa<llvm::CallInst>(i) && !llvm::isa<llvm::IntrinsicInst>(i);
  });
}

using Parts = llvm::SmallVector<llvm::Value*, 4>;

void AddParts(const Emitted& value, Parts& parts) {
  parts.push_back(value.value);
  if (value.imaginary != nullptr) parts.push_back(value.imaginary);
}

}  // namespace

ElementFunctions::ElementFunctions(const Kernel& kernel, NarrowConversions has)
    : kernel_(kernel), has_(has) {
  for (const Node& node : kernel.nodes) {
    if (MayBeLong(node)) ++uses_[NameOf(node)];
  }
}

Emitted ElementFunctions::Emit(llvm::IRBuilderBase& b, const Node& node,
                               absl::Span<const Emitted> operands) {
  if (!MayBeLong(node)) return EmitCode(b, node, operands);
  const std::string name = NameOf(node);
  int& uses = uses_[name];
  if (uses < 2) return EmitCode(b, node, operands);
  llvm::Function* const function =
      FunctionFor(*b.GetInsertBlock()->getModule(), name, node, operands);
  if (function == nullptr) {
    uses = 0;
    return EmitCode(b, node, operands);
  }
  Parts arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (ConstantOf(kernel_, node.operands[i]) == nullptr) AddParts(operands[i], arguments);
  }
  llvm::CallInst* const call = b.CreateCall(function, arguments);
  call->setCallingConv(function->getCallingConv());
  if (!call->getType()->isStructTy()) return {call, nullptr};
  return {b.CreateExtractValue(call, 0), b.CreateExtractValue(call, 1)};
}

// Nodes of one name compute the same function of those of their operands that are no constants.
std::string ElementFunctions::NameOf(const Node& node) const {
  const Type type = kernel_.type(node.results[0]);
  std::string name = fmt::format("{}.{}x{}", Text(node.opcode), Text(type.element), type.lanes);
  for (const Value operand : node.operands) {
    const Node* const constant = ConstantOf(kernel_, operand);
    name += constant == nullptr ? ".x"
                                : fmt::format(".{:x}_{:x}", constant->bits[0], constant->bits[1]);
  }
  return name;
}

Emitted ElementFunctions::EmitCode(llvm::IRBuilderBase& b, const Node& node,
                                   absl::Span<const Emitted> operands) const {
  absl::InlinedVector<ElementType, 3> types;
  for (const Value operand : node.operands) types.push_back(kernel_.type(operand).element);
  return EmitElement(b, has_, {node.opcode, kernel_.type(node.results[0]).element, node.attrs},
                     types, operands);
}

// Null when its code is short.
llvm::Function* ElementFunctions::FunctionFor(llvm::Module& module, const std::string& name,
                                              const Node& node,
                                              absl::Span<const Emitted> operands) const {
  if (llvm::Function* const known = module.getFunction(name)) return known;
  llvm::IRBuilder<> b(module.getContext());
  const Type type = kernel_.type(node.results[0]);
  llvm::Type* result = operands[0].value->getType();  // all have the type of the result
  if (IsComplex(type.element)) result = llvm::StructType::get(result, result);
  Parts variable;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (ConstantOf(kernel_, node.operands[i]) == nullptr) AddParts(operands[i], variable);
  }
  llvm::SmallVector<llvm::Type*, 4> types;
  for (const llvm::Value* part : variable) types.push_back(part->getType());
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                             llvm::GlobalValue::InternalLinkage, name, module);
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  absl::InlinedVector<Emitted, 3> arguments(operands.begin(), operands.end());
  unsigned next = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (ConstantOf(kernel_, node.operands[i]) != nullptr) continue;
    arguments[i].value = function->getArg(next++);
    if (arguments[i].imaginary != nullptr) arguments[i].imaginary = function->getArg(next++);
  }
  const Emitted value = EmitCode(b, node, arguments);
  if (function->getInstructionCount() < kShortest) {
    function->eraseFromParent();
    return nullptr;
  }
  if (!HasCalls(*function)) function->setCallingConv(llvm::CallingConv::Intel_OCL_BI);
  if (value.imaginary == nullptr) {
    b.CreateRet(value.value);
  } else {
    llvm::Value* const parts[] = {value.value, value.imaginary};
    b.CreateAggregateRet(parts, 2);
  }
  return function;
}

}  // namespace hlo::cpu::tile
