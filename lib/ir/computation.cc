#include "lib/ir/computation.h"

#include <algorithm>
#include <new>

#include "lib/ir/control_edges.h"
#include "lib/ir/module.h"
#include "lib/support/check.h"

namespace hlo {
namespace {

// Instructions in slab k: most computations are tiny (two parameters and a root), so the
// first slabs are.
size_t SlabCapacity(size_t k, size_t largest) { return k < 4 ? size_t{3} << k : largest; }

}  // namespace

Computation::~Computation() {
  // Other computations may already be gone: destroy the nodes without unlinking.
  for (Instruction* instruction : order_) {
    if (instruction != nullptr) instruction->~Instruction();
  }
  for (Instruction* instruction : dead_) instruction->~Instruction();
  for (size_t k = 0; k < slabs_.size(); ++k) {
    module_->memory().Give(slabs_[k], SlabCapacity(k, kSlabSize) * sizeof(Instruction));
  }
}

void Computation::set_execution_thread(std::string_view thread) {
  execution_thread_ = module_->Intern(thread);
}

bool Computation::is_entry() const { return module_->entry() == this; }

Instruction* Computation::fusion_caller() const {
  for (const CallSite& site : callers_) {
    if (site.caller->opcode() == Opcode::kFusion) return site.caller;
  }
  return nullptr;
}

bool Computation::is_fusion() const { return fusion_caller() != nullptr; }

std::vector<Instruction*> Computation::instruction_vector() const {
  std::vector<Instruction*> result;
  result.reserve(static_cast<size_t>(live_));
  for (Instruction* instruction : instructions()) result.push_back(instruction);
  return result;
}

Signature Computation::signature() const {
  Signature signature;
  for (const Instruction* parameter : parameters_)
    signature.parameters.push_back(parameter->shape());
  signature.result = root_->shape();
  signature.name = std::string(name_);
  return signature;
}

Instruction* Computation::Find(std::string_view name) const {
  for (Instruction* instruction : instructions()) {
    if (instruction->name() == name) return instruction;
  }
  return nullptr;
}

// ---- adding ----

Instruction* Computation::Allocate(Opcode opcode, Shape shape) {
  void* storage;
  if (!free_.empty()) {
    storage = free_.back();
    free_.pop_back();
  } else {
    if (slabs_.empty() || slab_used_ == SlabCapacity(slabs_.size() - 1, kSlabSize)) {
      slabs_.push_back(static_cast<std::byte*>(
          module_->memory().Take(SlabCapacity(slabs_.size(), kSlabSize) * sizeof(Instruction))));
      slab_used_ = 0;
    }
    storage = slabs_.back() + slab_used_++ * sizeof(Instruction);
  }
  auto* instruction = new (storage) Instruction(opcode, shape);
  instruction->parent_ = this;
  instruction->id_ = module_->NextId();
  instruction->position_ = static_cast<uint32_t>(order_.size());
  if (order_.empty()) order_.reserve(SlabCapacity(0, kSlabSize));
  order_.push_back(instruction);
  held_.Insert(opcode);
  ++live_;
  return instruction;
}

Instruction* Computation::AddVerbatim(Opcode opcode, Shape shape,
                                      absl::Span<Instruction* const> operands, AttrsPtr attrs,
                                      absl::Span<Computation* const> calls, std::string_view name) {
  Instruction* instruction = Allocate(opcode, shape);
  instruction->name_ = name;
  instruction->operands_.reserve(operands.size());
  for (Instruction* operand : operands) instruction->LinkOperand(operand);
  instruction->attrs_ = attrs ? std::move(attrs) : Info(opcode).default_attrs();
  if (!calls.empty()) instruction->SetCalls(calls);
  if (opcode == Opcode::kParameter) {
    const auto number = static_cast<size_t>(instruction->parameter_number());
    if (parameters_.size() <= number) parameters_.resize(number + 1, nullptr);
    parameters_[number] = instruction;
  }
  if (root_ == nullptr) root_ = instruction;
  return instruction;
}

Instruction* Computation::Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                              AttrsPtr attrs, absl::Span<Computation* const> calls,
                              std::string_view name) {
  return AddVerbatim(opcode, shape, operands, std::move(attrs), calls,
                     module_->UniqueInstructionName(name.empty() ? Text(opcode) : name));
}

Instruction* Computation::AddParameter(int64_t number, Shape shape, std::string_view name) {
  return Add(Opcode::kParameter, shape, {}, AttrsPtr::Make(ParameterAttrs{number, std::nullopt}),
             {}, name);
}

Instruction* Computation::AddConstant(Literal literal, std::string_view name) {
  const Shape shape = literal.shape();
  return Add(Opcode::kConstant, shape, {}, AttrsPtr::Make(ConstantAttrs{std::move(literal)}), {},
             name);
}

Instruction* Computation::AddClone(const Instruction& from, Shape shape,
                                   absl::Span<Instruction* const> operands) {
  HLO_CHECK(from.calls_.empty() || &from.module() == module_);
  Instruction* clone = Add(from.opcode_, shape, operands, from.attrs_, from.calls(), from.name_);
  clone->loc_ = from.loc_;
  if (from.extras_ != nullptr) {
    clone->mutable_extras() = *from.extras_;
    clone->extras_->control.reset();
  }
  return clone;
}

// ---- removing ----

void Computation::Unlink(Instruction* instruction) {
  HLO_CHECK(!instruction->dead_);
  instruction->DropControlEdges();
  for (size_t i = instruction->operands_.size(); i-- > 0;) instruction->UnlinkOperand(i);
  instruction->operands_.clear();
  instruction->UnlinkCalls();
  instruction->dead_ = true;
  order_[instruction->position_] = nullptr;
  dead_.push_back(instruction);
  --live_;
  if (root_ == instruction) root_ = nullptr;
}

void Computation::Remove(Instruction* instruction) {
  HLO_CHECK(instruction->parent_ == this);
  HLO_CHECK(instruction->uses_.empty());
  HLO_CHECK(instruction != root_);
  HLO_CHECK(instruction->opcode_ != Opcode::kParameter);
  Unlink(instruction);
}

int Computation::RemoveUnused(Instruction* instruction) {
  int removed = 0;
  std::vector<Instruction*> worklist = {instruction};
  while (!worklist.empty()) {
    Instruction* next = worklist.back();
    worklist.pop_back();
    if (next->dead_ || next->is_used() || next->opcode_ == Opcode::kParameter) continue;
    // In a fusion, which runs at once, control edges say nothing.
    const bool is_held = next->has_control_edges() && !is_fusion();
    if (next != instruction && (next->HasSideEffect() || is_held)) continue;
    const std::vector<Instruction*> operands = next->operand_vector();
    Unlink(next);
    ++removed;
    worklist.insert(worklist.end(), operands.begin(), operands.end());
  }
  return removed;
}

void Computation::Replace(Instruction* old, Instruction* replacement) {
  HLO_CHECK(old != replacement);
  // What ran before `old` is not to run before its operand, which it may need.
  const auto operands = old->operands();
  if (std::find(operands.begin(), operands.end(), replacement) != operands.end())
    HandOverControlEdges(old, replacement);
  old->ReplaceAllUsesWith(replacement);
  if (root_ == old) root_ = replacement;
  MoveControlEdges(old, replacement);
  if (replacement->metadata() == OpMetadata() && old->extras() != nullptr) {
    replacement->mutable_extras().metadata = old->metadata();
  }
  if (!replacement->loc_.known()) replacement->loc_ = old->loc_;
  if (old->opcode_ != Opcode::kParameter) Unlink(old);
}

void Computation::RemoveParameter(int number) {
  Instruction* parameter = parameters_[static_cast<size_t>(number)];
  HLO_CHECK(parameter->uses_.empty());
  HLO_CHECK(parameter != root_);
  Unlink(parameter);
  parameters_.erase(parameters_.begin() + number);
  for (size_t i = static_cast<size_t>(number); i < parameters_.size(); ++i) {
    ParameterAttrs attrs = parameters_[i]->attrs<ParameterAttrs>();
    attrs.number = static_cast<int64_t>(i);
    parameters_[i]->SetAttrs(std::move(attrs));
  }
}

void Computation::RemoveParameterAndOperands(int number) {
  for (const CallSite& site : callers()) site.caller->RemoveOperand(number);
  RemoveParameter(number);
}

void Computation::Sweep() {
  if (dead_.empty()) return;
  if (schedule_.has_value())
    std::erase_if(*schedule_, [](const Instruction* instruction) { return instruction->dead_; });
  for (Instruction* instruction : dead_) {
    Extras* extras = instruction->extras_.get();
    instruction->~Instruction();
    if (extras != nullptr) module_->memory().Give(extras, sizeof(Extras));
    free_.push_back(instruction);
  }
  dead_.clear();
  std::erase(order_, nullptr);
  for (size_t i = 0; i < order_.size(); ++i) order_[i]->position_ = static_cast<uint32_t>(i);
}

// ---- order ----

std::vector<Instruction*> Computation::PostOrder() const {
  std::vector<Instruction*> result;
  result.reserve(static_cast<size_t>(live_));
  enum class State : uint8_t { kNew, kOpen, kDone };
  absl::InlinedVector<State, 64> states(order_.size(), State::kNew);
  const auto state = [&states](const Instruction* instruction) -> State& {
    return states[instruction->position_];
  };
  absl::InlinedVector<Instruction*, 32> stack;
  for (Instruction* start : instructions()) {
    if (start->has_uses()) continue;
    stack.push_back(start);
    while (!stack.empty()) {
      Instruction* top = stack.back();
      if (state(top) == State::kDone) {
        stack.pop_back();
        continue;
      }
      if (state(top) == State::kOpen) {
        stack.pop_back();
        state(top) = State::kDone;
        result.push_back(top);
        continue;
      }
      state(top) = State::kOpen;
      // Pushed last is visited first: operands right to left below the control predecessors.
      for (int i = top->operand_count(); i-- > 0;) {
        if (state(top->operand(i)) == State::kNew) stack.push_back(top->operand(i));
      }
      for (Instruction* predecessor : top->control_predecessors()) {
        if (state(predecessor) == State::kNew) stack.push_back(predecessor);
      }
    }
  }
  return result;
}

std::vector<Instruction*> Computation::SequenceOrPostOrder() const {
  return schedule_.has_value() ? *schedule_ : PostOrder();
}

}  // namespace hlo
